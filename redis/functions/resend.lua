--- @include "clock", "delivery", "register"
-- Resends the events of ended deliveries, with new attempts: to the original destination, or to the current one of its
-- endpoint. KEYS: the destinations. ARGV: namespace, then for each delivery its id, and id, destination and URL to
-- send to (the same id for the same URL). Returns for each `done`, `unknown`, `pending`, `expired` if
-- the event is no longer kept, or `full` while the workspace's events hold too much.

local function resend(namespace, now, from, target)
  local record = delivery_key(namespace, from)
  local id, event_type, request, test, endpoint, state =
    unpack(redis.call('HMGET', record, 'event', 'type', 'request', 'test', 'endpoint', 'state'))
  if not id then
    return 'unknown'
  end
  local planned = delivery_key(namespace, target.id)
  if state == 'pending' or redis.call('HGET', planned, 'state') == 'pending' then
    return 'pending'
  end
  if redis.call('EXISTS', body_key(namespace, id)) == 0 then
    return 'expired'
  end
  local bytes = #target.url + DELIVERY_BYTES
  -- Not to be dropped for itself.
  redis.call('ZREM', kept_key(namespace), id)
  if not make_room(namespace, bytes) then
    rest_event(namespace, id, now)
    return 'full'
  end
  hold(namespace, id, bytes)
  target.endpoint = endpoint
  target.created_at = redis.call('HGET', planned, 'created_at') or now
  plan_delivery(namespace, now, { id = id, type = event_type, request = request, test = test }, target)
  redis.call('HDEL', planned, 'ended_at')
  redis.call('PERSIST', planned)
  return 'done'
end

register('resend', function(_, args, namespace)
  local now, answers, fields = now_ms(), {}, SIGNATURES.resend.each
  for i = 2, #args - fields + 1, fields do
    local target = { id = args[i + 1], destination = args[i + 2], url = args[i + 3] }
    answers[#answers + 1] = resend(namespace, now, args[i], target)
  end
  trim_log(namespace)
  -- As at the end of a request: notifies a front.
  redis.call('PUBLISH', events_channel(namespace), '1')
  return answers
end)
