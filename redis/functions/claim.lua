-- Gives the next request to a worker under a lease: what was begun before first, then each API key in its turn.
-- KEYS: the deployment's round. ARGV: namespace, deployment, the worker's token, lease in milliseconds, pod.
-- A repeat with the same token returns the same request while the claim holds, with a renewed lease, and none afterwards.
local MARKER_SECONDS = 600
local MAX_PARAMS_BYTES = 4096
-- Of those that lost their worker, examined in one call.
local MAX_LOST = 20

local function set_lease(request, now, lease)
  redis.call('ZADD', work_key(request.namespace, 'leases'), digits(math.min(now + lease, request.deadline)), request.id)
end

local function answer(request, now)
  local params = redis.call('GETRANGE', work_key(request.namespace, 'params:', request.id), 0, MAX_PARAMS_BYTES - 1)
  return { request.id, request.attempts, request.deadline - now, params }
end

-- The oldest that lost its worker; what is past its deadline is ended on the way.
local function take_again(namespace, deployment, now)
  local again = work_key(namespace, 'again:', deployment)
  for _ = 1, MAX_LOST do
    local id = redis.call('ZPOPMIN', again)[1]
    local request = id and load_short_request(namespace, id)
    if not id or (request and now < request.deadline) then
      return request
    end
    if request then
      end_request(request, now, { status = 'failed', code = 'model_timeout', message = DEADLINE_MESSAGE })
    end
  end
  return nil
end

-- The oldest of the API key whose turn it is; the key goes to the end of the round.
local function take_next(namespace, deployment, turns, micros)
  local api_key = redis.call('ZRANGE', turns, 0, 0)[1]
  if not api_key then
    return nil
  end
  local queue = queue_key(namespace, deployment, api_key)
  local taken = redis.call('ZPOPMIN', queue)
  if redis.call('ZCARD', queue) == 0 then
    redis.call('ZREM', turns, api_key)
  else
    redis.call('ZADD', turns, digits(micros), api_key)
  end
  return taken[1], taken[2]
end

-- Begins a request that waited in the queue; its deadline is fixed now for all attempts.
local function begin(namespace, deployment, job_ms, turns, micros)
  local id, order = take_next(namespace, deployment, turns, micros)
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
  local request = take_again(namespace, deployment, now) or begin(namespace, deployment, job_ms, keys[1], micros)
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
