-- A worker's calls: `claim`, `renew`, `finish`, `release`.

-- Leases the next request to a worker: restarted ones first, then API keys in turn, those of a
-- higher priority sooner, except every fourth time (decision 0154).
-- KEYS: the deployment's round. ARGV: namespace, deployment, the worker's token, lease in milliseconds, pod.
-- A repeat with the same token returns the same request while the claim holds, with a renewed lease, and none afterwards.
local MARKER_SECONDS = 600
-- What 4 KiB become when they are sealed (MAX_SEALED_PARAMS_LENGTH).
local MAX_PARAMS_BYTES = 5547
-- Limit of requests that lost their worker, per call.
local MAX_LOST = 20

local function set_lease(request, now, lease)
  redis.call('ZADD', work_key(request.namespace, 'leases'), digits(math.min(now + lease, request.deadline)), request.id)
end

local function answer(request, now)
  local params = redis.call('GETRANGE', work_key(request.namespace, 'params:', request.id), 0, MAX_PARAMS_BYTES - 1)
  return { request.id, request.attempts, request.deadline - now, params }
end

-- The oldest that lost its worker; requests past their deadline are ended on the way.
local function take_again(namespace, deployment, now)
  local again = work_key(namespace, 'again:', deployment)
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
      end_request(request, now, { status = 'failed', code = 'model_timeout', message = DEADLINE_MESSAGE })
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
    namespace = namespace, id = id, key = work_key(namespace, 'request:', id), attempts = 0,
    deadline = now + tonumber(job_ms), started_at = digits(now),
  }
end

register('claim', { least = 5, bytes = 1024 }, function(keys, args)
  local namespace, deployment, token, lease, pod = args[1], args[2], args[3], bound(args[4], MAX_LEASE_MS), args[5]
  local micros = now_micros()
  local now = math.floor(micros / 1000)
  local marker = work_key(namespace, 'claimed:', token)
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

register('renew', { least = 5, bytes = 1024 }, function(_, args)
  local namespace, id, token, lease = args[1], args[2], args[3], bound(args[4], MAX_LEASE_MS)
  local record = work_key(namespace, 'request:', id)
  local values = redis.call('HMGET', record, 'status', 'claim', 'deadline', 'progress')
  if values[1] ~= 'running' or token_of(values[2]) ~= token then
    return 'stale'
  end
  local now, deadline = now_ms(), tonumber(values[3])
  if now >= deadline then
    return 'deadline'
  end
  redis.call('ZADD', work_key(namespace, 'leases'), math.min(now + lease, deadline), id)
  local progress = tonumber(args[5])
  if progress then
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
  local key = work_key(request.namespace, 'pace:', request.deployment)
  local taken = now - request.claimed_at
  local average = read_pace(request.namespace, request.deployment)
  redis.call('HSET', key, 'average_ms', average and math.ceil(average + (taken - average) * WEIGHT) or taken)
  if not average then
    redis.call('EXPIRE', key, PACE_SECONDS)
  end
end

local function schedule_cleanup(namespace, now, text)
  local cleanup = work_key(namespace, 'cleanup')
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
register('finish', { least = 11, bytes = 128 * 1024 }, function(_, args)
  local namespace, id, token, status = args[1], args[2], args[3], args[4]
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
    end_request(request, now, { status = 'failed', code = 'model_timeout', message = DEADLINE_MESSAGE })
    return 'stale'
  end
  if status == 'succeeded' then
    end_request(request, now, {
      status = status, by = token, output = args[7], bucket = args[8], object_key = args[9], payload = args[10],
    })
    note_pace(request, now)
  else
    end_request(request, now, { status = 'failed', by = token, code = args[5], message = args[6] })
  end
  if args[11] ~= '' then
    schedule_cleanup(namespace, now, args[11])
  end
  return 'done'
end)

-- Returns a claimed request to the queue unfinished, without counting an attempt: a worker that drains or shuts down.
-- KEYS: the record. ARGV: namespace, id, the worker's token. Returns 1, or 0 if it was not this worker's (anymore).
register('release', { least = 3, bytes = 1024 }, function(_, args)
  local request = load_request(args[1], args[2])
  if not request or request.status ~= 'running' or request.claim ~= args[3] then
    return 0
  end
  release_request(request, request.attempts - 1)
  return 1
end)
