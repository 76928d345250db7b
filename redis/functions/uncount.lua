-- Takes one request out of its API key's minute again, as long as that minute lasts.
-- KEYS: the RPM counter. ARGV: the minute's end in Unix seconds, as `admit` returned it. Returns 1 if it was uncounted.
register_frugal('uncount', { least = 1, bytes = 1024 }, function(keys, args)
  local ttl = redis.call('PTTL', keys[1])
  -- Rounded again, the same minute may end a second earlier or later.
  if ttl <= 0 or math.abs(math.ceil((now_ms() + ttl) / SECOND_MS) - tonumber(args[1])) > 1 then
    return 0
  end
  if read_number(keys[1]) <= 0 then
    return 0
  end
  redis.call('DECR', keys[1])
  return 1
end)
