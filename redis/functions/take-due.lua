-- Takes members that are due, oldest first, for as long as a lease: what is not removed by then is due again.
-- KEYS: a set sorted by time (clean-up or outbox). ARGV: limit, lease in milliseconds.
register('take_due', function(keys, args)
  local now = now_ms()
  local due = redis.call('ZRANGE', keys[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, tonumber(args[1]))
  for _, member in ipairs(due) do
    redis.call('ZADD', keys[1], now + tonumber(args[2]), member)
  end
  return due
end)
