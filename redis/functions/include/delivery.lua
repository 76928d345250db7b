--- @include "clock", "memory", "numbers"
-- Shared by the functions on webhook deliveries (docs/webhooks.md). Only the front uses their keys, `d:{ws}:`.
local MAX_DELIVERY_ATTEMPTS = 3
local LOG_SIZE = 1000
local MAX_CONSECUTIVE_FAILURES = 20
-- A receiver that was down over a weekend can get what it missed.
local BODY_SECONDS = 3 * DAY_SECONDS
-- Limit of each delivery, resends included.
local MAX_LOGGED_ATTEMPTS = 12
-- The log keeps the latest deliveries, but not forever: addresses are often secret.
local LOG_SECONDS = 30 * DAY_SECONDS

-- When a destination is due next: its earliest due delivery, or the end of its earliest lease.
local function plan_destination(namespace, destination)
  local earliest
  for _, key in ipairs({ due_key(namespace, destination), leased_key(namespace, destination) }) do
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    local at = first[2] and tonumber(first[2])
    earliest = at and math.min(at, earliest or at) or earliest
  end
  local destinations = destinations_key(namespace)
  if earliest then
    redis.call('ZADD', destinations, earliest, destination)
  else
    redis.call('ZREM', destinations, destination)
  end
end

-- Ended deliveries beyond the newest LOG_SIZE are removed; pending ones stay until they have ended.
local function trim_log(namespace)
  local log = log_key(namespace)
  local excess = redis.call('ZCARD', log) - LOG_SIZE
  if excess <= 0 then
    return
  end
  for _, id in ipairs(redis.call('ZRANGE', log, 0, excess - 1)) do
    local record = delivery_key(namespace, id)
    if redis.call('HGET', record, 'state') ~= 'pending' then
      redis.call('DEL', record, attempts_key(namespace, id))
    end
    redis.call('ZREM', log, id)
  end
end

-- Memory held by a workspace's events (decision 0302): in the hash `held`, bytes by event, and the `total`; in the set `pending`, its
-- pending deliveries, by event; in the set `kept`, events without any, by when the last one ended.
local MAX_HELD_BYTES = 16 * 1024 * 1024
-- Share of `maxmemory`, if that is less.
local HELD_SHARE = 1 / 32
-- Overhead of a delivery beside its body and URL: the record, its set members, and its attempts, each of which takes
-- up to 1 KiB.
local DELIVERY_BYTES = 5120

local function hold(namespace, event, bytes)
  local held = held_key(namespace)
  redis.call('HINCRBY', held, event, bytes)
  redis.call('HINCRBY', held, 'total', bytes)
end

local function read_held(namespace)
  return tonumber(redis.call('HGET', held_key(namespace), 'total') or 0)
end

-- Drops the payload of the event that ended first; false if all others are pending.
local function drop_kept(namespace)
  local event = redis.call('ZPOPMIN', kept_key(namespace))[1]
  if not event then
    return false
  end
  local held = held_key(namespace)
  local bytes = tonumber(redis.call('HGET', held, event) or 0)
  redis.call('HDEL', held, event)
  redis.call('HINCRBY', held, 'total', digits(-bytes))
  redis.call('UNLINK', body_key(namespace, event))
  return true
end

-- Whether so much more can be held, if necessary by dropping ended events; a single one always can.
local function make_room(namespace, bytes)
  local most = memory.limit > 0 and math.min(MAX_HELD_BYTES, memory.limit * HELD_SHARE) or MAX_HELD_BYTES
  while read_held(namespace) + bytes > most do
    if not drop_kept(namespace) then
      return read_held(namespace) == 0
    end
  end
  return true
end

-- Keeps an event without pending deliveries, as one of the latest.
local function rest_event(namespace, event, now)
  -- `0` follows `/`.
  local under_way = redis.call('ZRANGE', pending_key(namespace), '[' .. event .. '/', '(' .. event .. '0', 'BYLEX',
    'LIMIT', 0, 1)
  if #under_way > 0 then
    return
  end
  local kept = kept_key(namespace)
  redis.call('ZADD', kept, now, event)
  if redis.call('ZCARD', kept) > LOG_SIZE then
    drop_kept(namespace)
  end
end

-- Ends a delivery permanently. A record no longer in the log is removed at once.
local function end_delivery(namespace, id, state, now)
  local record = delivery_key(namespace, id)
  local event = redis.call('HGET', record, 'event')
  redis.call('ZREM', pending_key(namespace), event .. '/' .. id)
  rest_event(namespace, event, now)
  if redis.call('ZSCORE', log_key(namespace), id) then
    redis.call('HSET', record, 'state', state, 'ended_at', now)
    redis.call('EXPIRE', record, LOG_SECONDS)
    redis.call('EXPIRE', attempts_key(namespace, id), LOG_SECONDS)
  else
    redis.call('DEL', record, attempts_key(namespace, id))
  end
end

-- Records one attempt for diagnosis: when it ended, the status code or '', the error or '', request and response or ''.
local function log_attempt(namespace, id, now, code, error_words, exchange)
  local key = attempts_key(namespace, id)
  redis.call('RPUSH', key, cjson.encode({ at = now, code = code, error = error_words, exchange = exchange }))
  redis.call('LTRIM', key, -MAX_LOGGED_ATTEMPTS, -1)
  redis.call('EXPIRE', key, LOG_SECONDS)
end

-- The health of a subscription endpoint: `failures` in a row, and `disabled_at` once there were too many. `known`
-- identifies the count: a change of the URL or a re-enabling starts a new one, and earlier deliveries no longer count.
local function is_disabled(namespace, endpoint)
  return endpoint ~= '' and redis.call('HEXISTS', endpoint_key(namespace, endpoint), 'disabled_at') == 1
end

-- '' while the operator has not seen the endpoint, and once it is deleted.
local function current_count(namespace, endpoint)
  return endpoint ~= '' and redis.call('HGET', endpoint_key(namespace, endpoint), 'known') or ''
end

-- Writes a pending delivery; `now` in milliseconds.
local function plan_delivery(namespace, now, event, delivery)
  redis.call('HSET', delivery_key(namespace, delivery.id), 'event', event.id, 'type', event.type,
    'request', event.request, 'test', event.test, 'url', delivery.url, 'endpoint', delivery.endpoint,
    'destination', delivery.destination, 'count', current_count(namespace, delivery.endpoint), 'state', 'pending',
    'attempts', 0, 'created_at', delivery.created_at or now)
  redis.call('ZADD', pending_key(namespace), 0, event.id .. '/' .. delivery.id)
  redis.call('ZREM', kept_key(namespace), event.id)
  redis.call('ZADD', log_key(namespace), 'NX', now_micros(), delivery.id)
  redis.call('ZADD', due_key(namespace, delivery.destination), now, delivery.id)
  plan_destination(namespace, delivery.destination)
end

-- Whether the outcome of a delivery counts for its endpoint.
local function is_counted(namespace, record)
  local endpoint, count = unpack(redis.call('HMGET', record, 'endpoint', 'count'))
  return (count or '') ~= '' and count == current_count(namespace, endpoint)
end

-- Why a delivery is no longer sent to its endpoint; nil while it may be.
local function refusal_of(namespace, endpoint, count)
  local known, disabled_at = unpack(redis.call('HMGET', endpoint_key(namespace, endpoint), 'known', 'disabled_at'))
  if disabled_at then
    return 'the endpoint was disabled'
  end
  if (count or '') ~= '' and not known then
    return 'the endpoint was deleted'
  end
  local published = redis.call('HGET', config_endpoints_key(namespace), endpoint)
  if published and not cjson.decode(published).enabled then
    return 'the endpoint was disabled'
  end
  return nil
end

local function note_success(namespace, endpoint)
  if redis.call('HEXISTS', endpoint_key(namespace, endpoint), 'failures') == 1 then
    redis.call('HDEL', endpoint_key(namespace, endpoint), 'failures')
  end
end

local function note_failure(namespace, endpoint, now)
  local failures = redis.call('HINCRBY', endpoint_key(namespace, endpoint), 'failures', 1)
  if failures >= MAX_CONSECUTIVE_FAILURES then
    redis.call('HSETNX', endpoint_key(namespace, endpoint), 'disabled_at', now)
  end
end
