# Starts the image's server, with the configuration below a folder, / if none is given; further arguments are the server's.
# Reloads a renewed certificate if supported: Valkey 9.1 and later.
set -eu
configuration=${1-}/config/redis.conf
[ $# -eq 0 ] || shift
server=$(command -v valkey-server || command -v redis-server)
set -- "$configuration" "$@"
if grep -q '^tls-port' "$configuration"; then
  case $("$server" --version) in
    'Valkey server v='[1-8].* | 'Valkey server v=9.0.'*) ;;
    'Valkey server v='*) set -- "$@" --tls-auto-reload-interval 60 ;;
  esac
fi
exec "$server" "$@"
