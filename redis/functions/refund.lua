-- Refunds what a token was charged, once; where nothing was yet, a charge that arrives late takes nothing.
-- KEYS: the marker of the caller's token. ARGV: namespace. Answers 1 if something was given back.
register('refund', { least = 1, bytes = 1024 }, function(keys, args)
  local price = redis.call('GETRANGE', keys[1], 0, MAX_NUMBER_BYTES - 1)
  redis.call('SET', keys[1], '0', 'EX', CHARGE_SECONDS)
  if price == '' or price == '0' then
    return 0
  end
  redis.call('INCRBY', work_key(args[1], 'credit'), '-' .. price)
  return 1
end)
