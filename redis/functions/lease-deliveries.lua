-- Takes due deliveries for one attempt each. Every destination has a number of places, so one that hangs holds up
-- nobody else; the one that was leased from least recently comes first.
-- KEYS: the destinations. ARGV: namespace, limit, places of a destination, lease in milliseconds.
-- Answers { milliseconds until the next is due or -1, lists of id, attempt, event, type, request, url, endpoint, test,
-- body }. What has had its last attempt and its last wait is ended instead, with `given_up` for the attempt.
local MAX_DESTINATIONS = 100
local MAX_LEASED = 1000
-- Pending notifications of the owner; one message of so many is enough.
local MAX_MAIL = 1000

-- Leases that ran out: their front is gone, so the attempt counts and the delivery is due again.
local function recover_leases(namespace, destination, now)
  local leased = delivery_key(namespace, 'leased:', destination)
  for _, id in ipairs(redis.call('ZRANGE', leased, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_LEASED)) do
    redis.call('ZREM', leased, id)
    redis.call('HSET', delivery_key(namespace, 'delivery:', id), 'code', '', 'error', 'the attempt was interrupted')
    log_attempt(namespace, id, now, '', 'the attempt was interrupted')
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
    -- It goes on as the request's own callback, which does not end with an endpoint of the same address.
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
