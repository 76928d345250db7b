-- Creates one event's deliveries, once: whoever removes it from the outbox creates them. Test events have no place there.
-- KEYS: the outbox. ARGV: namespace, event, type, request or '', body of a test event or '', then for each delivery
-- its id, destination, URL and endpoint ('' = the request's own callback). Returns how many were created: one for equal
-- URLs, in the name of the first endpoint that is not disabled; `callback` notes that it is the request's own, too.
local FIXED_ARGUMENTS = 5
local FIELDS_EACH = 4
local MAX_TARGETS = 1000

local function take_body(outbox, namespace, event, given)
  if given ~= '' then
    return given
  end
  if redis.call('ZREM', outbox, event) == 0 then
    return nil
  end
  local key = 'w:{' .. namespace .. '}:event:' .. event
  local row = redis.call('STRLEN', key) <= MAX_ROW_BYTES and redis.call('GET', key)
  redis.call('UNLINK', key)
  local break_at = row and string.find(row, '\n', 1, true)
  return break_at and string.sub(row, break_at + 1)
end

-- Ends a delivery before its first attempt.
local function drop_delivery(namespace, delivery, now, why)
  redis.call('ZREM', delivery_key(namespace, 'due:', delivery.destination), delivery.id)
  plan_destination(namespace, delivery.destination)
  redis.call('HSET', delivery_key(namespace, 'delivery:', delivery.id), 'code', '', 'error', why)
  end_delivery(namespace, delivery.id, 'failed', now)
end

local function add_delivery(namespace, now, event, delivery)
  local record = delivery_key(namespace, 'delivery:', delivery.id)
  if redis.call('EXISTS', record) == 1 then
    if delivery.endpoint == '' and redis.call('HGET', record, 'state') ~= 'pending' then
      -- Dropped a moment ago for its disabled endpoint: the request's own callback does not end with that.
      redis.call('DEL', record)
      plan_delivery(namespace, now, event, delivery)
    elseif delivery.endpoint == '' then
      redis.call('HSET', record, 'callback', '1')
    end
    return 0
  end
  plan_delivery(namespace, now, event, delivery)
  if event.test == '' and is_disabled(namespace, delivery.endpoint) then
    -- Nothing is sent, but what was missed can be sent once the endpoint is enabled again.
    drop_delivery(namespace, delivery, now, 'the endpoint was disabled')
  end
  return 1
end

local bounds = { least = FIXED_ARGUMENTS, most = FIXED_ARGUMENTS + FIELDS_EACH * MAX_TARGETS, bytes = 4 * 1024 * 1024 }
register('expand', bounds, function(keys, args)
  local namespace, now = args[1], now_ms()
  local event = { id = args[2], type = args[3], request = args[4], test = args[5] ~= '' and '1' or '' }
  local body = take_body(keys[1], namespace, event.id, args[5])
  if not body or #args == FIXED_ARGUMENTS then
    return 0
  end
  redis.call('SET', delivery_key(namespace, 'body:', event.id), body, 'EX', BODY_SECONDS)
  local made = 0
  for i = FIXED_ARGUMENTS + 1, #args, FIELDS_EACH do
    made = made + add_delivery(namespace, now, event,
      { id = args[i], destination = args[i + 1], url = args[i + 2], endpoint = args[i + 3] })
  end
  trim_log(namespace)
  redis.call('EXPIRE', delivery_key(namespace, 'log'), LOG_SECONDS)
  if event.test ~= '' then
    -- What ends a request announces its event itself.
    redis.call('PUBLISH', 'n:{' .. namespace .. '}:events', '1')
  end
  return made
end)
