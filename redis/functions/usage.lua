-- What a deployment served in one period. KEYS: the hash of the period. Answers its fields and counters, one after the
-- other; none where there is more than any gateway writes.
local MAX_USAGE_BYTES = 512 * 1024

register_reader('usage', { least = 0, bytes = 1024 }, function(keys)
  return is_short(keys[1], MAX_USAGE_BYTES) and redis.call('HGETALL', keys[1]) or {}
end)
