-- Does what time demands of a workspace's requests, at most `limit` of them in one call.
-- KEYS: the leases. ARGV: namespace, limit, until when (Unix ms) leases and queued requests may expire; 0 = they may not.
-- A time rather than a flag, since a call may lie in the socket of a Redis that hangs until all leases are over.
-- Answers how many requests were ended, given back and forgotten, and 1 if more is left to do now.
local MAX_ATTEMPTS = 2
local CHECKED_DEPLOYMENTS = 50
local DEFAULT_QUEUE_MS = DAY_SECONDS * SECOND_MS

local function read_config(namespace, deployment)
  return redis.call('HGET', 'c:{' .. namespace .. '}:deployments', deployment)
end

-- A whole number of a configuration, found as text: decoding it all would cost more than the rest of a call.
-- Quotes inside JSON strings are escaped, so no value can pass for a member's name.
local function config_number(config, field, default)
  if not config then
    return default
  end
  local _, stop = string.find(config, '"' .. field .. '":', 1, true)
  return stop and tonumber(string.match(config, '^%d+', stop + 1)) or default
end

-- Whether a deployment is deleted or about to be.
local function is_gone(config)
  return not config or string.find(config, '"deleting":true', 1, true) ~= nil
end

-- A running request whose lease is over, or whose deadline is.
local function recover(request, now)
  local code, message = 'worker_lost', 'The replica that ran the request was lost.'
  if now >= request.deadline then
    code, message = 'model_timeout', DEADLINE_MESSAGE
  elseif request.attempts < MAX_ATTEMPTS and not is_gone(read_config(request.namespace, request.deployment)) then
    give_back(request, request.attempts)
    return 'given_back'
  end
  redis.call('ZREM', work_key(request.namespace, 'again:', request.deployment), request.id)
  end_request(request, now, { status = 'failed', code = code, message = message })
  return 'ended'
end

local function end_queued(namespace, ids, now, ending)
  for _, id in ipairs(ids) do
    local request = load_request(namespace, id)
    leave_queue(request)
    end_request(request, now, { status = ending.status, code = ending.code, message = ending.message })
  end
  return #ids
end

local function expire_queued(namespace, deployment, config, now, limit)
  local youngest = (now - config_number(config, 'queueTTLMs', DEFAULT_QUEUE_MS) + 1) * 1000
  local ids = redis.call('ZRANGE', index_key(namespace, deployment, 'queued'), '-inf',
    string.format('(%.0f', youngest), 'BYSCORE', 'LIMIT', 0, limit)
  return end_queued(namespace, ids, now, {
    status = 'failed', code = 'expired', message = 'The request waited in the queue for longer than allowed.',
  })
end

local function forget(request)
  local namespace, deployment, id = request.namespace, request.deployment, request.id
  redis.call('ZREM', index_key(namespace, deployment, request.status), id)
  redis.call('ZREM', index_key(namespace, deployment, 'all'), id)
  redis.call('DEL', request.key, work_key(namespace, 'result:', id))
end

-- Cancels what waits for a deployment that is gone, and fails what would wait for another worker there.
local function clear_deployment(namespace, deployment, now, limit)
  local again = work_key(namespace, 'again:', deployment)
  local ended = 0
  local lost = redis.call('ZRANGE', again, 0, limit - 1)
  for _, id in ipairs(lost) do
    redis.call('ZREM', again, id)
    local request = load_request(namespace, id)
    if request then
      end_request(request, now, { status = 'failed', code = 'worker_lost', message = 'The deployment was deleted.' })
    end
    ended = ended + 1
  end
  if ended < limit then
    local ids = redis.call('ZRANGE', index_key(namespace, deployment, 'queued'), 0, limit - ended - 1)
    ended = ended + end_queued(namespace, ids, now, { status = 'canceled' })
  end
  return ended
end

register('sweep', function(keys, args)
  local namespace, limit = args[1], tonumber(args[2])
  local now = now_ms()
  local may_expire = now <= tonumber(args[3])
  local done = { ended = 0, given_back = 0, forgotten = 0 }
  local left = limit

  if may_expire then
    for _, id in ipairs(redis.call('ZRANGE', keys[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, left)) do
      local request = load_request(namespace, id)
      if request then
        local what = recover(request, now)
        done[what] = done[what] + 1
      else
        redis.call('ZREM', keys[1], id)
      end
      left = left - 1
    end
  end

  -- The longest unchecked first, so that all have their turn however many there are.
  local deployments = work_key(namespace, 'deployments')
  for _, name in ipairs(redis.call('ZRANGE', deployments, 0, CHECKED_DEPLOYMENTS - 1)) do
    if left <= 0 then
      break
    end
    local config = read_config(namespace, name)
    local ended = 0
    if is_gone(config) then
      ended = clear_deployment(namespace, name, now, left)
    elseif may_expire then
      ended = expire_queued(namespace, name, config, now, left)
    end
    done.ended, left = done.ended + ended, left - ended
    if config or left <= 0 then
      redis.call('ZADD', deployments, now, name)
    else
      redis.call('ZREM', deployments, name)
      redis.call('DEL', work_key(namespace, 'pace:', name))
    end
  end

  if left > 0 then
    local old = work_key(namespace, 'ended')
    for _, id in ipairs(redis.call('ZRANGE', old, '-inf', now, 'BYSCORE', 'LIMIT', 0, left)) do
      local request = load_request(namespace, id)
      if request then
        forget(request)
      end
      redis.call('ZREM', old, id)
      done.forgotten, left = done.forgotten + 1, left - 1
    end
  end
  return { done.ended, done.given_back, done.forgotten, left <= 0 and 1 or 0 }
end)
