-- Writes one replica's heartbeat and answers all live ones as a JSON list; those too old are dropped.
-- KEYS: the deployment's heartbeats. ARGV: pod, its heartbeat as a JSON object without `at`.
local MAX_AGE_MS = 10 * SECOND_MS

register('heartbeat', function(keys, args)
  local now = now_ms()
  -- Spliced as text: decoding would cost more and turn an empty list into an object.
  local own = string.sub(args[2], 1, -2) .. ',"at":' .. string.format('%.0f', now) .. '}'
  redis.call('HSET', keys[1], args[1], own)
  redis.call('PEXPIRE', keys[1], MINUTE_MS)

  local live = {}
  local entries = redis.call('HGETALL', keys[1])
  for i = 1, #entries, 2 do
    local at = tonumber(string.match(entries[i + 1], '"at":(%d+)}$') or 0)
    if at > now - MAX_AGE_MS then
      live[#live + 1] = entries[i + 1]
    else
      redis.call('HDEL', keys[1], entries[i])
    end
  end
  return '[' .. table.concat(live, ',') .. ']'
end)
