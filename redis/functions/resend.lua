-- Sends the event of an ended delivery once more, with attempts of its own: to the place that it went to, or to where its
-- endpoint leads now. KEYS: the destinations. ARGV: namespace, id, then id, destination and URL to send to (the same id
-- for the same URL). Answers `done`, `unknown`, `pending` while it is under way, or `expired` where the event is not kept
-- any more.
register_beginning('resend', { least = 5, bytes = 24576 }, function(keys, args)
  local namespace, now = args[1], now_ms()
  local record = delivery_key(namespace, 'delivery:', args[2])
  local id, event_type, request, test, endpoint =
    unpack(redis.call('HMGET', record, 'event', 'type', 'request', 'test', 'endpoint'))
  if not id then
    return 'unknown'
  end
  local target = { id = args[3], destination = args[4], url = args[5], endpoint = endpoint }
  if redis.call('HGET', record, 'state') == 'pending'
    or redis.call('HGET', delivery_key(namespace, 'delivery:', target.id), 'state') == 'pending' then
    return 'pending'
  end
  if redis.call('EXISTS', delivery_key(namespace, 'body:', id)) == 0 then
    return 'expired'
  end
  target.created_at = redis.call('HGET', delivery_key(namespace, 'delivery:', target.id), 'created_at') or now
  plan_delivery(namespace, now, { id = id, type = event_type, request = request, test = test }, target)
  local planned = delivery_key(namespace, 'delivery:', target.id)
  redis.call('HDEL', planned, 'ended_at')
  redis.call('PERSIST', planned)
  trim_log(namespace)
  -- As what ends a request does: a front is to look.
  redis.call('PUBLISH', 'n:{' .. namespace .. '}:events', '1')
  return 'done'
end)
