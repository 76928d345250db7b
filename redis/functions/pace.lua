-- The average milliseconds of a deployment's jobs, as text; nil before the first. KEYS: the pace.
local MAX_DIGITS = 20

register_reader('pace', { least = 0, bytes = 1024 }, function(keys)
  local average = redis.call('HGET', keys[1], 'average_ms')
  return average and #average <= MAX_DIGITS and average
end)
