#!/usr/bin/env bash
# Expected: the text of a Redis Functions library is Lua like its functions: it may build a table with ipairs, or read a number with
#   tonumber, while it is loaded.
# What happens: while it is loaded, no global exists but `redis`: none of Lua's basic functions, no string, table or math, and none of
#   Redis' own such as cjson. Within a function that is called, all of these exist. So constants have to be computed before the text is
#   sent, and helpers may name a global only in a body that runs later.
# Version: Redis 7.0.15 (Debian); Valkey 9.1 prints the same. Lua scripts by EVAL have them from their first line.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download redis-server redis-tools libjemalloc2 liblua5.1-0 lua-bitop lua-cjson libhiredis0.14 liblzf1 >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" root; done
LD_LIBRARY_PATH=$(find "$folder/root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
export LD_LIBRARY_PATH

root/usr/bin/redis-server --port 0 --unixsocket "$folder/socket" --save '' >log 2>&1 &
server=$!
redis() { root/usr/bin/redis-cli -s "$folder/socket" "$@"; }
until redis PING >/dev/null 2>&1; do sleep 0.1; done

# Whether a name can be read: `$1` is a library that reads it.
reads() { if grep -q nonexistent <<<"$1"; then echo no; else echo yes; fi; }
show() {
  for name in redis ipairs pcall type tonumber string table math cjson bit; do
    library="local there = $name
redis.register_function('probe', function() return 'called' end)"
    loaded=$(printf '#!lua name=probe\n%s\n' "$library" | redis -x FUNCTION LOAD REPLACE 2>&1)
    library="redis.register_function('probe', function()
  local there = $name
  return 'called'
end)"
    printf '#!lua name=probe\n%s\n' "$library" | redis -x FUNCTION LOAD REPLACE >/dev/null
    called=$(redis FCALL probe 0 2>&1)
    printf '%-9s while it is loaded: %-4s in a call: %s\n' "$name" "$(reads "$loaded")" "$(reads "$called")"
  done
}

seen=$(show)
echo "$seen"
expected=$(
  cat <<'OUT'
redis     while it is loaded: yes  in a call: yes
ipairs    while it is loaded: no   in a call: yes
pcall     while it is loaded: no   in a call: yes
type      while it is loaded: no   in a call: yes
tonumber  while it is loaded: no   in a call: yes
string    while it is loaded: no   in a call: yes
table     while it is loaded: no   in a call: yes
math      while it is loaded: no   in a call: yes
cjson     while it is loaded: no   in a call: yes
bit       while it is loaded: no   in a call: yes
OUT
)
[ "$seen" = "$expected" ]

# Output seen:
# redis     while it is loaded: yes  in a call: yes
# ipairs    while it is loaded: no   in a call: yes
# pcall     while it is loaded: no   in a call: yes
# type      while it is loaded: no   in a call: yes
# tonumber  while it is loaded: no   in a call: yes
# string    while it is loaded: no   in a call: yes
# table     while it is loaded: no   in a call: yes
# math      while it is loaded: no   in a call: yes
# cjson     while it is loaded: no   in a call: yes
# bit       while it is loaded: no   in a call: yes
