--- @include "clock", "memory", "numbers", "register"
-- The latest requests of a deployment that have ended, for the console: `note_requests`, `recent`.
local MAX_NOTED_BYTES = 512 * 1024

-- A tenant may have written another type there, or more.
local function is_noted(key)
  return is_short(key, MAX_NOTED_BYTES) and type(redis.pcall('ZCARD', key)) == 'number'
end

-- Adds requests, and keeps the latest. KEYS: the deployment's requests. ARGV: of each, when it ended (Unix milliseconds) and its
-- line. Returns 1. It is refused when memory is full: the console can do without.
register('note_requests', function(keys, args)
  local call = { 'ZADD', keys[1] }
  for i = 1, #args, 2 do
    if not is_amount(args[i]) or #args[i + 1] > MAX_LINE_BYTES then
      error('Not a line of a request')
    end
    call[#call + 1] = args[i]
    call[#call + 1] = args[i + 1]
  end
  if not is_noted(keys[1]) then
    redis.call('UNLINK', keys[1])
  end
  redis.call(unpack(call))
  -- The key itself never expires while there are new ones.
  local oldest = digits(now_ms() - NOTED_SECONDS * SECOND_MS)
  local old = #redis.call('ZRANGE', keys[1], '-inf', '(' .. oldest, 'BYSCORE', 'LIMIT', 0, 2 * MAX_NOTED)
  local over = math.max(old, redis.call('ZCARD', keys[1]) - MAX_NOTED)
  if over > 0 then
    redis.call('ZPOPMIN', keys[1], digits(over))
  end
  redis.call('EXPIRE', keys[1], NOTED_SECONDS)
  return 1
end)

-- Lines of the latest requests, oldest first. KEYS: the deployment's requests.
register('recent', function(keys)
  return is_noted(keys[1]) and redis.call('ZRANGE', keys[1], -MAX_NOTED, -1) or {}
end)
