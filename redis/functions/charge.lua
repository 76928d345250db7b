-- Takes a price at once, for what a client waits for. KEYS: the marker of the caller's token. ARGV: namespace, price in
-- millionths. Answers `ok`, also to a repeat, or `credit` where what is left does not suffice.
register('charge', { least = 2, bytes = 1024 }, function(keys, args)
  local namespace, price = args[1], args[2]
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'ok'
  end
  if not afford(namespace, price, redis.call('HGET', workspace_key(namespace), 'creditMicros')) then
    return 'credit'
  end
  if price ~= '0' then
    redis.call('SET', keys[1], price, 'EX', CHARGE_SECONDS)
    redis.call('INCRBY', work_key(namespace, 'credit'), price)
  end
  return 'ok'
end)
