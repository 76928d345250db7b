# Writes data/users.acl in a folder, / if none is given: Berth's own users are generated, the workspaces' restored as the operator saved them.
set -eu
cd "${1:-/}"
rules=$(grep '^user ' config/users.acl)
for name in operator front console; do
  [ -s "secret/$name-password" ] || { echo "the Secret has no $name-password" >&2; exit 1; }
  password=$(cat "secret/$name-password")
  hash=$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)
  rules=$(printf '%s\n' "$rules" | sed "s/{$name}/$hash/")
done
touch data/users.acl
grep -Ev '^user (default|berth-operator|berth-front|berth-console) ' data/users.acl > data/users.acl.new || true
printf '%s\n' "$rules" >> data/users.acl.new
mv data/users.acl.new data/users.acl
