-- Notes how an attempt ended. KEYS: the destinations. ARGV: namespace, destination, id, attempt, '1' if it was
-- delivered, status code or '', error or '', milliseconds to wait after a failure.
-- Answers `done`, or `stale` where another attempt has begun or the delivery has ended.
register_frugal('settle_delivery', { least = 8, bytes = 4096 }, function(keys, args)
  local namespace, destination, id = args[1], args[2], args[3]
  local record = delivery_key(namespace, 'delivery:', id)
  if redis.call('HGET', record, 'attempts') ~= args[4]
    or redis.call('ZREM', delivery_key(namespace, 'leased:', destination), id) == 0 then
    return 'stale'
  end
  local now = now_ms()
  redis.call('HSET', record, 'code', args[6], 'error', args[7])
  log_attempt(namespace, id, now, args[6], args[7])
  if args[5] == '1' then
    local endpoint, test = unpack(redis.call('HMGET', record, 'endpoint', 'test'))
    if test == '' and is_counted(namespace, record) then
      note_success(namespace, endpoint)
    end
    end_delivery(namespace, id, 'delivered', now)
  else
    redis.call('ZADD', delivery_key(namespace, 'due:', destination), now + tonumber(args[8]), id)
  end
  plan_destination(namespace, destination)
  return 'done'
end)
