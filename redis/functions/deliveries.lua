-- Webhook deliveries: `expand`, `lease_deliveries`, `settle_delivery`.

-- Creates one event's deliveries, once: whoever removes it from the outbox creates them. Test events are not in it.
-- While the workspace's events hold too much, none is created and the event stays in the outbox: returns nil.
-- KEYS: the outbox. ARGV: namespace, event, type, request or '', body of a test event or '', then for each delivery
-- its id, destination, URL and endpoint ('' = the request's own callback). Returns how many were created: one for equal
-- URLs, in the name of the first endpoint that is not disabled; `callback` notes that it is the request's own, too.
local FIXED_ARGUMENTS = 5
local FIELDS_EACH = 4
local MAX_TARGETS = 1000

local function read_body(outbox, namespace, event)
  if not redis.call('ZSCORE', outbox, event) then
    return nil
  end
  local key = work_key(namespace, 'event:', event)
  local row = redis.call('STRLEN', key) <= MAX_ROW_BYTES and redis.call('GET', key)
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

local expand_bounds = { least = FIXED_ARGUMENTS, most = FIXED_ARGUMENTS + FIELDS_EACH * MAX_TARGETS, bytes = 4 * 1024 * 1024 }
register('expand', expand_bounds, function(keys, args)
  local namespace, now = args[1], now_ms()
  local event = { id = args[2], type = args[3], request = args[4], test = args[5] ~= '' and '1' or '' }
  local body = event.test ~= '' and args[5] or read_body(keys[1], namespace, event.id)
  local targets, bytes = {}, #(body or '')
  for i = FIXED_ARGUMENTS + 1, #args, FIELDS_EACH do
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
    redis.call('UNLINK', work_key(namespace, 'event:', event.id))
  end
  if not is_wanted then
    return 0
  end
  redis.call('SET', delivery_key(namespace, 'body:', event.id), body, 'EX', BODY_SECONDS)
  hold(namespace, event.id, bytes)
  local made = 0
  for _, target in ipairs(targets) do
    made = made + add_delivery(namespace, now, event, target)
  end
  rest_event(namespace, event.id, now)
  -- Their requests have expired by then.
  redis.call('EXPIRE', delivery_key(namespace, 'held'), BODY_SECONDS)
  redis.call('EXPIRE', delivery_key(namespace, 'kept'), BODY_SECONDS)
  trim_log(namespace)
  redis.call('EXPIRE', delivery_key(namespace, 'log'), LOG_SECONDS)
  if event.test ~= '' then
    -- The function that ends a request announces its event itself.
    redis.call('PUBLISH', 'n:{' .. namespace .. '}:events', '1')
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
-- Pending notifications of the owner; one message of so many is enough.
local MAX_MAIL = 1000

-- Expired leases: their front is gone, so the attempt counts and the delivery is due again.
local function recover_leases(namespace, destination, now)
  local leased = delivery_key(namespace, 'leased:', destination)
  for _, id in ipairs(redis.call('ZRANGE', leased, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_LEASED)) do
    redis.call('ZREM', leased, id)
    redis.call('HSET', delivery_key(namespace, 'delivery:', id), 'code', '', 'error', 'the attempt was interrupted')
    log_attempt(namespace, id, now, '', 'the attempt was interrupted', '')
    redis.call('ZADD', delivery_key(namespace, 'due:', destination), now, id)
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
    redis.call('ZADD', delivery_key(namespace, 'mail'), now, cjson.encode({
      delivery = id, event = taken[3], type = taken[4], request = taken[5], url = taken[6],
      error = redis.call('HGET', record, 'error') or '', at = now,
    }))
    redis.call('ZREMRANGEBYRANK', delivery_key(namespace, 'mail'), 0, -MAX_MAIL - 1)
  end
  end_delivery(namespace, id, 'failed', now)
  return taken
end

-- One attempt, or the end after the last wait.
local function take(namespace, destination, id, now, lease)
  local record = delivery_key(namespace, 'delivery:', id)
  redis.call('ZREM', delivery_key(namespace, 'due:', destination), id)
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
  local body = redis.call('GET', delivery_key(namespace, 'body:', event))
  if tonumber(attempts) >= MAX_DELIVERY_ATTEMPTS or not body then
    return give_up(namespace, record, id, now)
  end
  local attempt = redis.call('HINCRBY', record, 'attempts', 1)
  redis.call('ZADD', delivery_key(namespace, 'leased:', destination), now + lease, id)
  return describe(record, id, attempt, body)
end

register_frugal('lease_deliveries', { least = 4, bytes = 1024 }, function(keys, args)
  local namespace, limit, places = args[1], bound(args[2], MAX_LEASED), bound(args[3], MAX_LEASED)
  local lease = bound(args[4], MAX_LEASE_MS)
  local now = now_ms()
  local taken = {}
  local due = redis.call('ZRANGE', keys[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_DESTINATIONS)
  for _, destination in ipairs(due) do
    recover_leases(namespace, destination, now)
    local room = math.min(limit - #taken, places - redis.call('ZCARD', delivery_key(namespace, 'leased:', destination)))
    if room > 0 then
      local ids = redis.call('ZRANGE', delivery_key(namespace, 'due:', destination), '-inf', now, 'BYSCORE',
        'LIMIT', 0, room)
      for _, id in ipairs(ids) do
        taken[#taken + 1] = take(namespace, destination, id, now, lease)
      end
    end
    if places <= redis.call('ZCARD', delivery_key(namespace, 'leased:', destination)) then
      -- A settled delivery schedules it again; else the end of the first lease does.
      local first = redis.call('ZRANGE', delivery_key(namespace, 'leased:', destination), 0, 0, 'WITHSCORES')
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
register_frugal('settle_delivery', { least = 9, bytes = 4096 }, function(keys, args)
  local namespace, destination, id = args[1], args[2], args[3]
  local record = delivery_key(namespace, 'delivery:', id)
  if redis.call('HGET', record, 'attempts') ~= args[4]
    or redis.call('ZREM', delivery_key(namespace, 'leased:', destination), id) == 0 then
    return 'stale'
  end
  local now = now_ms()
  redis.call('HSET', record, 'code', args[6], 'error', args[7])
  log_attempt(namespace, id, now, args[6], args[7], args[9])
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
