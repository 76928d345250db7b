# Backs up Redis into a folder as an RDB file, and keeps the newest. Arguments: host, port, folder, number of
# backups to keep, and the CA file if TLS is used. The operator's password is in REDISCLI_AUTH.
set -eu
host=$1 port=$2 folder=$3 keep=$4 authority=${5-}
cli=$(command -v valkey-cli || command -v redis-cli)
check=$(command -v valkey-check-rdb || command -v redis-check-rdb)
file=$folder/berth-$(date -u +%Y%m%dT%H%M%SZ).rdb
rm -f "$folder"/*.part
set --
[ -z "$authority" ] || set -- --tls --sni "$host"
# Your own certificate may be signed by a CA that the system trusts.
[ ! -s "$authority" ] || set -- "$@" --cacert "$authority"
"$cli" -h "$host" -p "$port" "$@" --user berth-operator --no-auth-warning --rdb "$file.part"
"$check" "$file.part"
mv "$file.part" "$file"
ls -1 "$folder"/berth-*.rdb | sort -r | tail -n "+$((keep + 1))" | xargs -r rm -f
