--- @include "clock", "delivery", "numbers", "queue", "register"
-- Webhook deliveries: `expand`, `lease_deliveries`, `settle_delivery`.

-- Pending notifications of the owner; one message of so many is enough.
local MAX_MAIL = 1000

-- Creates one event's deliveries, once: whoever removes it from the outbox creates them. Test events are not in it.
-- While the workspace's events hold too much, none is created and the event stays in the outbox: returns nil.
-- KEYS: the outbox. ARGV: namespace, event, type, request or '', body of a test event or '', then for each delivery
-- its id, destination, URL and endpoint ('' = the request's own callback). Returns how many were created: one for equal
-- URLs, in the name of the first endpoint that is not disabled; `callback` notes that it is the request's own, too.

local function read_body(outbox, namespace, event)
  if not redis.call('ZSCORE', outbox, event) then
    return nil
  end
  local key = event_key(namespace, event)
  local row = redis.call('STRLEN', key) <= MAX_ROW_BYTES and redis.call('GET', key)
  local break_at = row and string.find(row, '\n', 1, true)
  return break_at and string.sub(row, break_at + 1)
end

-- Ends a delivery before its first attempt.
local function drop_delivery(namespace, delivery, now, why)
  redis.call('ZREM', due_key(namespace, delivery.destination), delivery.id)
  plan_destination(namespace, delivery.destination)
  redis.call('HSET', delivery_key(namespace, delivery.id), 'code', '', 'error', why)
  end_delivery(namespace, delivery.id, 'failed', now)
end

local function add_delivery(namespace, now, event, delivery)
  local record = delivery_key(namespace, delivery.id)
  if redis.call('EXISTS', record) == 1 then
    if delivery.endpoint == '' and redis.call('HGET', record, 'state') ~= 'pending' then
      -- Just dropped for its disabled endpoint: that does not end the request's own callback.
      redis.call('DEL', record)
      plan_delivery(namespace, now, event, delivery)
    elseif delivery.endpoint == '' then
      redis.call('HSET', record, 'callback', '1')
    end
    return 0
  end
  plan_delivery(namespace, now, event, delivery)
  if event.test == '' and is_disabled(namespace, delivery.endpoint) then
    -- Nothing is sent, but missed events can be resent once the endpoint is enabled again.
    drop_delivery(namespace, delivery, now, 'the endpoint was disabled')
  end
  return 1
end

-- The owner is notified of a budget once, as the event leaves the outbox once.
local function notify_of_budget(namespace, event, body, now)
  redis.call('ZADD', mail_key(namespace), now, cjson.encode({
    delivery = event.id, event = event.id, type = event.type, request = '', url = '', error = '', at = now, body = body,
  }))
  redis.call('ZREMRANGEBYRANK', mail_key(namespace), 0, -MAX_MAIL - 1)
end

register('expand', function(keys, args, namespace, id, event_type, request_id, test_body)
  local now = now_ms()
  local event = { id = id, type = event_type, request = request_id, test = test_body ~= '' and '1' or '' }
  local body = event.test ~= '' and test_body or read_body(keys[1], namespace, event.id)
  local targets, bytes = {}, #(body or '')
  for i = SIGNATURES.expand.fixed + 1, #args, SIGNATURES.expand.each do
    targets[#targets + 1] = { id = args[i], destination = args[i + 1], url = args[i + 2], endpoint = args[i + 3] }
    bytes = bytes + #args[i + 2] + DELIVERY_BYTES
  end
  local is_wanted = body and #targets > 0
  if is_wanted and not make_room(namespace, bytes) then
    -- Due at once, not when the lease ends: there may be room before.
    redis.call('ZADD', keys[1], 'XX', now, event.id)
    return false
  end
  if event.test == '' then
    redis.call('ZREM', keys[1], event.id)
    redis.call('UNLINK', event_key(namespace, event.id))
    if body and event.type == 'budget.warning' then
      notify_of_budget(namespace, event, body, now)
    end
  end
  if not is_wanted then
    return 0
  end
  redis.call('SET', body_key(namespace, event.id), body, 'EX', BODY_SECONDS)
  hold(namespace, event.id, bytes)
  local made = 0
  for _, target in ipairs(targets) do
    made = made + add_delivery(namespace, now, event, target)
  end
  rest_event(namespace, event.id, now)
  -- Their requests have expired by then.
  redis.call('EXPIRE', held_key(namespace), BODY_SECONDS)
  redis.call('EXPIRE', kept_key(namespace), BODY_SECONDS)
  trim_log(namespace)
  redis.call('EXPIRE', log_key(namespace), LOG_SECONDS)
  if event.test ~= '' then
    -- The function that ends a request announces its event itself.
    redis.call('PUBLISH', events_channel(namespace), '1')
  end
  return made
end)

-- Leases due deliveries for one attempt each. Concurrency per destination is limited, so one that hangs delays
-- no other; the least recently leased one comes first.
-- KEYS: the destinations. ARGV: namespace, limit, places of a destination, lease in milliseconds.
-- Returns { milliseconds until the next is due or -1, lists of id, attempt, event, type, request, url, endpoint, test,
-- body }. After the last attempt and the last wait a delivery is ended instead, with `given_up` for the attempt.
local MAX_DESTINATIONS = 100
local MAX_LEASED = 1000

-- Expired leases: their front is gone, so the attempt counts and the delivery is due again.
local function recover_leases(namespace, destination, now)
  local leased = leased_key(namespace, destination)
  for _, id in ipairs(redis.call('ZRANGE', leased, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_LEASED)) do
    redis.call('ZREM', leased, id)
    redis.call('HSET', delivery_key(namespace, id), 'code', '', 'error', 'the attempt was interrupted')
    log_attempt(namespace, id, now, '', 'the attempt was interrupted', '')
    redis.call('ZADD', due_key(namespace, destination), now, id)
  end
end

local function describe(record, id, attempt, body)
  local values = redis.call('HMGET', record, 'event', 'type', 'request', 'url', 'endpoint', 'test')
  return { id, attempt, values[1], values[2], values[3], values[4], values[5], values[6], body or '' }
end

local function give_up(namespace, record, id, now)
  local taken = describe(record, id, 'given_up')
  local endpoint, test = taken[7], taken[8]
  if test == '' and is_counted(namespace, record) then
    note_failure(namespace, endpoint, now)
  end
  if test == '' and (endpoint == '' or redis.call('HEXISTS', record, 'callback') == 1) then
    -- The owner is notified of a callback, once.
    redis.call('ZADD', mail_key(namespace), now, cjson.encode({
      delivery = id, event = taken[3], type = taken[4], request = taken[5], url = taken[6],
      error = redis.call('HGET', record, 'error') or '', at = now,
    }))
    redis.call('ZREMRANGEBYRANK', mail_key(namespace), 0, -MAX_MAIL - 1)
  end
  end_delivery(namespace, id, 'failed', now)
  return taken
end

-- One attempt, or the end after the last wait.
local function take(namespace, destination, id, now, lease)
  local record = delivery_key(namespace, id)
  redis.call('ZREM', due_key(namespace, destination), id)
  local event, attempts, endpoint, test, count =
    unpack(redis.call('HMGET', record, 'event', 'attempts', 'endpoint', 'test', 'count'))
  if not event then
    return nil
  end
  local refusal = test == '' and endpoint ~= '' and refusal_of(namespace, endpoint, count)
  if refusal then
    if redis.call('HEXISTS', record, 'callback') == 0 then
      redis.call('HSET', record, 'code', '', 'error', refusal)
      end_delivery(namespace, id, 'failed', now)
      return nil
    end
    -- It continues as the request's own callback, which does not end with an endpoint of the same address.
    redis.call('HSET', record, 'endpoint', '')
  end
  local body = redis.call('GET', body_key(namespace, event))
  if tonumber(attempts) >= MAX_DELIVERY_ATTEMPTS or not body then
    return give_up(namespace, record, id, now)
  end
  local attempt = redis.call('HINCRBY', record, 'attempts', 1)
  redis.call('ZADD', leased_key(namespace, destination), now + lease, id)
  return describe(record, id, attempt, body)
end

register('lease_deliveries', function(keys, namespace, limit, per_destination, lease_ms)
  local places, lease = bound(per_destination, MAX_LEASED), bound(lease_ms, MAX_LEASE_MS)
  limit = bound(limit, MAX_LEASED)
  local now = now_ms()
  local taken = {}
  local due = redis.call('ZRANGE', keys[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_DESTINATIONS)
  for _, destination in ipairs(due) do
    recover_leases(namespace, destination, now)
    local room = math.min(limit - #taken, places - redis.call('ZCARD', leased_key(namespace, destination)))
    if room > 0 then
      local ids = redis.call('ZRANGE', due_key(namespace, destination), '-inf', now, 'BYSCORE',
        'LIMIT', 0, room)
      for _, id in ipairs(ids) do
        taken[#taken + 1] = take(namespace, destination, id, now, lease)
      end
    end
    if places <= redis.call('ZCARD', leased_key(namespace, destination)) then
      -- A settled delivery schedules it again; else the end of the first lease does.
      local first = redis.call('ZRANGE', leased_key(namespace, destination), 0, 0, 'WITHSCORES')
      redis.call('ZADD', keys[1], first[2], destination)
    else
      plan_destination(namespace, destination)
    end
    if #taken >= limit then
      break
    end
  end
  local next_at = redis.call('ZRANGE', keys[1], 0, 0, 'WITHSCORES')[2]
  return { next_at and math.max(0, tonumber(next_at) - now) or -1, taken }
end)

-- Records the result of an attempt. KEYS: the destinations. ARGV: namespace, destination, id, attempt, '1' if it was
-- delivered, status code or '', error or '', milliseconds to wait after a failure, request and response or ''.
-- Returns `done`, or `stale` if another attempt has started or the delivery has ended.
register('settle_delivery', function(_, namespace, destination, id, attempt, is_delivered, status, fault, wait_ms, exchange)
  local record = delivery_key(namespace, id)
  if redis.call('HGET', record, 'attempts') ~= attempt
    or redis.call('ZREM', leased_key(namespace, destination), id) == 0 then
    return 'stale'
  end
  local now = now_ms()
  redis.call('HSET', record, 'code', status, 'error', fault)
  log_attempt(namespace, id, now, status, fault, exchange)
  if is_delivered == '1' then
    local endpoint, test = unpack(redis.call('HMGET', record, 'endpoint', 'test'))
    if test == '' and is_counted(namespace, record) then
      note_success(namespace, endpoint)
    end
    end_delivery(namespace, id, 'delivered', now)
  else
    redis.call('ZADD', due_key(namespace, destination), now + tonumber(wait_ms), id)
  end
  plan_destination(namespace, destination)
  return 'done'
end)
