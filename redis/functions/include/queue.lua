--- @include "clock", "numbers"
-- The queue of a deployment: limits, pace, and the turns of API keys.
local MAX_LEASE_MS = 10 * MINUTE_MS

-- The turns of API keys are sorted by when each had its last one, two years sooner for every step of its priority: higher
-- ones come first, and those of one priority take turns. Turns are assumed to be less than a year old, and doubles represent this exactly.
local MAX_PRIORITY = 100
local PRIORITY_MICROS = 730 * DAY_SECONDS * 1000000

local function bound_priority(priority)
  return math.min(MAX_PRIORITY, math.max(-MAX_PRIORITY, priority))
end

local function score_turn(micros, priority)
  return digits(micros - priority * PRIORITY_MICROS)
end

-- Reads any score, which a tenant may have written.
local function priority_of(score, micros)
  return bound_priority(math.floor((micros - tonumber(score)) / PRIORITY_MICROS + 0.5))
end

-- Settings for submissions and claims: the maximum that may wait, milliseconds that a record is kept, milliseconds of a job, and
-- the registration id, all as text; nil if nothing new is accepted or started.
local function read_limits(namespace, deployment)
  local limits = redis.call('HGET', config_limits_key(namespace), deployment)
  if limits then
    return string.match(limits, '^(%d+) (%d+) (%d+) (%d+)$')
  end
end

-- The average milliseconds of a deployment's jobs, or nil.
local function read_pace(namespace, deployment)
  local average = parse_number(redis.call('HGET', pace_key(namespace, deployment), 'average_ms') or '')
  return average > 0 and average or nil
end

-- Removes a waiting request from its API key's queue, and the key from the round if that was its last.
local function leave_queue(request)
  local queue = queue_key(request.namespace, request.deployment, request.api_key)
  redis.call('ZREM', queue, request.id)
  if redis.call('ZCARD', queue) == 0 then
    redis.call('ZREM', turns_key(request.namespace, request.deployment), request.api_key)
  end
end

local function announce_jobs(namespace, deployment)
  redis.call('PUBLISH', jobs_channel(namespace, deployment), '1')
end

-- Releases a running request for another claim, ahead of requests that never started; it is still shown as running.
local function release_request(request, attempts)
  redis.call('HSET', request.key, 'claim', '', 'attempts', attempts)
  redis.call('ZADD', again_key(request.namespace, request.deployment), request.order, request.id)
  redis.call('ZADD', leases_key(request.namespace), request.deadline, request.id)
  -- The sweeper may have crossed a deleted deployment off already.
  redis.call('ZADD', deployments_key(request.namespace), 'NX', 0, request.deployment)
  announce_jobs(request.namespace, request.deployment)
end
