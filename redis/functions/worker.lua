--- @include "clock", "memory", "numbers", "queue", "register", "request-end", "request-record", "stored-objects"
-- A worker's calls: `claim`, `renew`, `finish`, `release`.

-- Leases the next request to a worker: restarted ones first, then API keys in turn, those of a
-- higher priority sooner, except every fourth time (decision 0154).
-- KEYS: the deployment's round. ARGV: namespace, deployment, the worker's token, lease in milliseconds, pod.
-- A repeat with the same token returns the same request while the claim holds, with a renewed lease, and none afterwards.
local MARKER_SECONDS = 600
-- Limit of requests that lost their worker, per call.
local MAX_LOST = 20

local function set_lease(request, now, lease)
  redis.call('ZADD', leases_key(request.namespace), digits(math.min(now + lease, request.deadline)), request.id)
end

local function answer(request, now)
  local params = redis.call('GETRANGE', params_key(request.namespace, request.id), 0, MAX_PARAMS_BYTES - 1)
  return { request.id, request.attempts, request.deadline - now, params }
end

-- The oldest that lost its worker; requests past their deadline are ended on the way.
local function take_again(namespace, deployment, now)
  local again = again_key(namespace, deployment)
  for i = 1, MAX_LOST do
    -- One end is counted with the call.
    if i > 1 and is_reserve_used(ENDING_BYTES) then
      return nil
    end
    local id = redis.call('ZPOPMIN', again)[1]
    local request = id and load_request(namespace, id)
    if not id or (request and now < request.deadline) then
      return request
    end
    if request then
      end_request(request, now, TIMED_OUT)
    end
  end
  return nil
end

-- One of four claims, by their tokens' first hexadecimal digit, so that low priorities progress, too.
local function is_for_all(token)
  return (tonumber(string.sub(token, 1, 1), 16) or 1) % 4 == 0
end

-- The first API keys of each priority, from `first` on: returns the one served longest ago.
local function find_longest(turns, micros, first)
  local longest, priority = first, first.priority
  -- Each step reads the head of a lower priority.
  while priority > -MAX_PRIORITY do
    local above = digits(micros - (priority - 0.5) * PRIORITY_MICROS)
    local head = redis.call('ZRANGE', turns, '(' .. above, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if not head[1] then
      break
    end
    priority = math.min(priority - 1, priority_of(head[2], micros))
    local at = tonumber(head[2]) + priority * PRIORITY_MICROS
    if at < longest.at then
      longest = { api_key = head[1], priority = priority, at = at }
    end
  end
  return longest
end

-- Whose turn it is: the longest waiting of the highest priority, or, in a round of all, the longest waiting overall.
local function find_turn(turns, micros, token)
  local head = redis.call('ZRANGE', turns, 0, 0, 'WITHSCORES')
  if not head[1] then
    return nil
  end
  local priority = priority_of(head[2], micros)
  local first = { api_key = head[1], priority = priority, at = tonumber(head[2]) + priority * PRIORITY_MICROS }
  return is_for_all(token) and find_longest(turns, micros, first) or first
end

-- The oldest of the API key whose turn it is; the key goes to the end of the round.
local function take_next(namespace, deployment, turns, micros, token)
  local turn = find_turn(turns, micros, token)
  if not turn then
    return nil
  end
  local api_key = turn.api_key
  local queue = queue_key(namespace, deployment, api_key)
  local taken = redis.call('ZPOPMIN', queue)
  if redis.call('ZCARD', queue) == 0 then
    redis.call('ZREM', turns, api_key)
  else
    redis.call('ZADD', turns, score_turn(micros, turn.priority), api_key)
  end
  return taken[1], taken[2]
end

-- Starts a queued request; its deadline is now fixed for all attempts.
local function begin(namespace, deployment, job_ms, turns, micros, token)
  local id, order = take_next(namespace, deployment, turns, micros, token)
  if not id or #id > MAX_ID_BYTES then
    return nil
  end
  redis.call('ZREM', index_key(namespace, deployment, 'queued'), id)
  redis.call('ZADD', index_key(namespace, deployment, 'running'), order, id)
  local now = math.floor(micros / 1000)
  return {
    namespace = namespace, id = id, key = request_key(namespace, id), attempts = 0,
    deadline = now + tonumber(job_ms), started_at = digits(now),
  }
end

register('claim', function(keys, namespace, deployment, token, lease_ms, pod)
  local lease, micros = bound(lease_ms, MAX_LEASE_MS), now_micros()
  local now = math.floor(micros / 1000)
  local marker = claimed_key(namespace, token)
  local earlier = redis.call('GETRANGE', marker, 0, MAX_ID_BYTES - 1)
  if earlier ~= '' then
    local request = load_request(namespace, earlier)
    if request and request.status == 'running' and request.claim == token then
      set_lease(request, now, lease)
      return answer(request, now)
    end
    return false
  end

  local _, _, job_ms = read_limits(namespace, deployment)
  if not job_ms then
    return false
  end
  local request = take_again(namespace, deployment, now) or begin(namespace, deployment, job_ms, keys[1], micros, token)
  if not request then
    return false
  end
  request.attempts = request.attempts + 1
  redis.call('HSET', request.key, 'claim', token, 'claimed_at', digits(now), 'attempts', request.attempts, 'worker', pod,
    -- On a second attempt none of this changes for outside readers.
    'status', 'running', 'started_at', request.started_at, 'deadline', digits(request.deadline))
  set_lease(request, now, lease)
  redis.call('SET', marker, request.id, 'EX', MARKER_SECONDS)
  return answer(request, now)
end)

-- Renews a claim and stores progress, which never decreases. An expired lease that was not swept yet is revived.
-- KEYS: the record. ARGV: namespace, id, the worker's token, lease in milliseconds, progress (0 to 99) or ''.
-- Returns `renewed`, `stale` (no longer this worker's) or `deadline` (its time is up).
local MAX_PROGRESS = 99

register('renew', function(_, namespace, id, token, lease_ms, progress)
  local record = request_key(namespace, id)
  local values = redis.call('HMGET', record, 'status', 'claim', 'deadline', 'progress')
  if values[1] ~= 'running' or token_of(values[2]) ~= token then
    return 'stale'
  end
  local now, deadline = now_ms(), tonumber(values[3])
  if now >= deadline then
    return 'deadline'
  end
  redis.call('ZADD', leases_key(namespace), math.min(now + bound(lease_ms, MAX_LEASE_MS), deadline), id)
  if tonumber(progress) then
    progress = math.min(MAX_PROGRESS, math.floor(progress))
    if progress > tonumber(values[4] or 0) then
      redis.call('HSET', record, 'progress', progress)
    end
  end
  return 'renewed'
end)

-- Ends a claimed request with its worker's outcome. KEYS: the record. ARGV: namespace, id, the worker's token,
-- `succeeded` or `failed`, error code, error message, output (JSON), its bucket, its first object key,
-- the event's result payload (JSON), objects' clean-up times as a JSON list of [object, milliseconds or -1 = keep].
-- Returns `done`, `already_done_by_you` or `stale`; only after `stale` does a worker remove its own objects.
local WEIGHT = 0.2
local PACE_SECONDS = 30 * DAY_SECONDS

-- The moving average for estimates of waiting times; it expires after a month, so that none outlives its deployment.
local function note_pace(request, now)
  local key = pace_key(request.namespace, request.deployment)
  local taken = now - request.claimed_at
  local average = read_pace(request.namespace, request.deployment)
  redis.call('HSET', key, 'average_ms', average and math.ceil(average + (taken - average) * WEIGHT) or taken)
  if not average then
    redis.call('EXPIRE', key, PACE_SECONDS)
  end
end

local function schedule_cleanup(namespace, now, text)
  local cleanup = cleanup_key(namespace)
  for _, entry in ipairs(decode_list(text)) do
    local object, wait = entry[1], entry[2]
    if is_object(object) and wait < 0 then
      redis.call('ZREM', cleanup, object)
    elseif is_object(object) then
      redis.call('ZADD', cleanup, now + wait, object)
    end
  end
end

-- An event of 64 KiB, with the objects' keys in it and beside it.
register('finish', function(_, namespace, id, token, status, code, message, output, bucket, object_key, payload, retentions)
  local request = load_request(namespace, id)
  if not request then
    return 'stale'
  end
  if request.ended_by == token then
    return 'already_done_by_you'
  end
  if request.status ~= 'running' or request.claim ~= token then
    return 'stale'
  end
  local now = now_ms()
  if now >= request.deadline then
    -- The sweeper's verdict: the outcome must not depend on which comes first.
    end_request(request, now, TIMED_OUT)
    return 'stale'
  end
  if status == 'succeeded' then
    end_request(request, now, {
      status = status, by = token, output = output, bucket = bucket, object_key = object_key, payload = payload,
    })
    note_pace(request, now)
  else
    end_request(request, now, { status = 'failed', by = token, code = code, message = message })
  end
  if retentions ~= '' then
    schedule_cleanup(namespace, now, retentions)
  end
  return 'done'
end)

-- Returns a claimed request to the queue unfinished, without counting an attempt: a worker that drains or shuts down.
-- KEYS: the record. ARGV: namespace, id, the worker's token. Returns 1, or 0 if it was not this worker's (anymore).
register('release', function(_, namespace, id, token)
  local request = load_request(namespace, id)
  if not request or request.status ~= 'running' or request.claim ~= token then
    return 0
  end
  release_request(request, request.attempts - 1)
  return 1
end)
