-- Sets two fields to one number, above their previous values; returns the lower previous one, and the new one (decision 0080).
-- KEYS: the canary. ARGV: a number that the operator wrote by itself, which both had reached before.
register_frugal('canary', { least = 1, bytes = 1024 }, function(keys, args)
  local first = tonumber(redis.call('HGET', keys[1], 'first') or 0) or 0
  local second = tonumber(redis.call('HGET', keys[1], 'second') or 0) or 0
  local next = math.max(first, second, tonumber(args[1]) or 0) + 1
  -- Two writes: a single one would not be wrapped in a transaction, which is what a reload may drop.
  redis.call('HSET', keys[1], 'first', string.format('%.0f', next))
  redis.call('HSET', keys[1], 'second', string.format('%.0f', next))
  return { math.min(first, second), next }
end)
