-- Adds tokens to the key's UTC day and money to the workspace's credit, once for each of the caller's tokens.
-- KEYS: the settlement's marker. ARGV: namespace, SHA-256 of the key, tokens, millionths.
local MARKER_SECONDS = 600
local COUNTER_SECONDS = 2 * DAY_SECONDS

register('settle', { least = 4, bytes = 1024 }, function(keys, args)
  local namespace, sha256, tokens, micros = args[1], args[2], args[3], args[4]
  if not redis.call('SET', keys[1], '1', 'NX', 'EX', MARKER_SECONDS) then
    return 0
  end
  if tokens ~= '0' then
    local key = tpd_key(namespace, sha256, math.floor(now_ms() / SECOND_MS / DAY_SECONDS))
    redis.call('INCRBY', key, tokens)
    redis.call('EXPIRE', key, COUNTER_SECONDS)
  end
  if micros ~= '0' then
    redis.call('INCRBY', 'w:{' .. namespace .. '}:credit', micros)
  end
  return 1
end)
