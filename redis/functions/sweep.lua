--- @include "clock", "memory", "numbers", "queue", "register", "request-end", "request-record"
-- Expires leases, deadlines and old records of a workspace, at most `limit` of them in one call, and MAX_SWEPT.
-- KEYS: the leases. ARGV: namespace, limit, until when (Unix ms) leases and queued requests may expire; 0 = they may not.
-- A time rather than a flag, since a call may be stuck in the socket of a hanging Redis until all leases are over.
-- Returns how many requests were ended, requeued and removed, and 1 if more is due now.
local MAX_ATTEMPTS = 2
local CHECKED_DEPLOYMENTS = 50
local DEFAULT_QUEUE_MS = DAY_SECONDS * SECOND_MS

local function read_config(namespace, deployment)
  return redis.call('HGET', config_deployments_key(namespace), deployment)
end

-- A whole number in a configuration, found as text: decoding everything would cost more than the rest of a call.
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
  local is_timed_out = now >= request.deadline
  if not is_timed_out and request.attempts < MAX_ATTEMPTS and not is_gone(read_config(request.namespace, request.deployment)) then
    release_request(request, request.attempts)
    return 'released'
  end
  redis.call('ZREM', again_key(request.namespace, request.deployment), request.id)
  end_request(request, now, is_timed_out and TIMED_OUT or WORKER_LOST)
  return 'ended'
end

-- Members of a set up to a score, in small batches, so that a call holds few that a tenant made long.
local function read_due(key, until_when, limit)
  return redis.call('ZRANGE', key, '-inf', until_when, 'BYSCORE', 'LIMIT', 0, math.min(READ_AT_ONCE, limit))
end

-- An error at one member of a set, whose keys a tenant may have written, does not block others: it is retried later.
local function attempt(key, member, retry_score, work)
  if not pcall(work, member) then
    redis.call('ZADD', key, digits(retry_score), member)
  end
end

-- Attempts what ends each of several requests, until the memory that is reserved for ends is used up, since each may write
-- much; returns how many.
local function attempt_ends(key, ids, retry_score, work)
  for i, id in ipairs(ids) do
    if is_reserve_used(ENDING_BYTES) then
      return i - 1
    end
    attempt(key, id, retry_score, work)
  end
  return #ids
end

-- Repeats a bounded step until nothing is left, or `limit` is reached.
local function repeat_step(limit, step)
  local done, count = 0, 0
  while done < limit do
    count = step(math.min(READ_AT_ONCE, limit - done))
    done = done + count
    if count < READ_AT_ONCE then
      break
    end
  end
  return done
end

-- Ends waiting requests, and drops queue entries without a record.
local function end_queued(namespace, deployment, ids, now, ending)
  local waiting = index_key(namespace, deployment, 'queued')
  return attempt_ends(waiting, ids, (now + MINUTE_MS) * 1000, function(id)
    local request = load_request(namespace, id)
    -- One that does not wait would reappear here after its end.
    if not request or request.status ~= 'queued' or request.deployment ~= deployment then
      return redis.call('ZREM', waiting, id)
    end
    leave_queue(request)
    end_request(request, now, ending)
  end)
end

local function expire_queued(namespace, deployment, config, now, limit)
  local youngest = (now - config_number(config, 'queueTTLMs', DEFAULT_QUEUE_MS) + 1) * 1000
  local waiting = index_key(namespace, deployment, 'queued')
  local ids = redis.call('ZRANGE', waiting, '-inf', string.format('(%.0f', youngest), 'BYSCORE', 'LIMIT', 0, limit)
  return end_queued(namespace, deployment, ids, now, EXPIRED)
end

local function forget(request)
  local namespace, deployment, id = request.namespace, request.deployment, request.id
  redis.call('ZREM', index_key(namespace, deployment, request.status), id)
  redis.call('ZREM', index_key(namespace, deployment, 'all'), id)
  redis.call('UNLINK', request.key, result_key(namespace, id), prompt_key(namespace, id),
    params_key(namespace, id))
end

-- Cancels requests that wait for a deleted deployment, and fails those that would wait for another worker there.
local function clear_deployment(namespace, deployment, now, limit)
  local again = again_key(namespace, deployment)
  local lost = redis.call('ZRANGE', again, 0, limit - 1)
  local ended = attempt_ends(again, lost, (now + MINUTE_MS) * 1000, function(id)
    redis.call('ZREM', again, id)
    local request = load_request(namespace, id)
    if request then
      end_request(request, now, DEPLOYMENT_LOST)
    end
  end)
  if ended < #lost then
    return ended
  end
  local waiting = index_key(namespace, deployment, 'queued')
  local ids = #lost < limit and redis.call('ZRANGE', waiting, 0, limit - #lost - 1) or {}
  return #lost + end_queued(namespace, deployment, ids, now, { status = 'canceled' })
end

local function sweep_leases(leases, namespace, now, limit, done)
  return repeat_step(limit, function(most)
    return attempt_ends(leases, read_due(leases, now, most), now + MINUTE_MS, function(id)
      local request = load_request(namespace, id)
      if not request or request.status ~= 'running' then
        return redis.call('ZREM', leases, id)
      end
      local what = recover(request, now)
      done[what] = done[what] + 1
    end)
  end)
end

local function sweep_deployment(namespace, name, now, may_expire, limit)
  local config = #name <= MAX_FIELD_BYTES and read_config(namespace, name)
  local ended = repeat_step(limit, function(most)
    if is_gone(config) then
      return clear_deployment(namespace, name, now, most)
    end
    return may_expire and expire_queued(namespace, name, config, now, most) or 0
  end)
  local deployments = deployments_key(namespace)
  if config or ended >= limit or memory.is_full then
    redis.call('ZADD', deployments, now, name)
  else
    redis.call('ZREM', deployments, name)
    redis.call('UNLINK', pace_key(namespace, name))
  end
  return ended
end

-- The least recently checked first, so that all have their turn, however many there are.
local function sweep_deployments(namespace, now, may_expire, limit, done)
  local deployments = deployments_key(namespace)
  local left, seen = limit, {}
  repeat_step(CHECKED_DEPLOYMENTS, function(most)
    local names = read_due(deployments, '+inf', most)
    for _, name in ipairs(names) do
      if left <= 0 or seen[name] then
        return 0
      end
      seen[name] = true
      attempt(deployments, name, now, function()
        local ended = sweep_deployment(namespace, name, now, may_expire, left)
        done.ended, left = done.ended + ended, left - ended
      end)
    end
    return #names
  end)
  return limit - left
end

local function sweep_ended(namespace, now, limit, done)
  local old = ended_key(namespace)
  return repeat_step(limit, function(most)
    local ids = read_due(old, now, most)
    for _, id in ipairs(ids) do
      attempt(old, id, now + MINUTE_MS, function()
        local request = load_request(namespace, id)
        if request then
          forget(request)
        end
        redis.call('ZREM', old, id)
        done.forgotten = done.forgotten + 1
      end)
    end
    return #ids
  end)
end

-- It frees memory in the end, and ends no more than there is: without it, full memory would stay so.
register('sweep', function(keys, namespace, limit, expire_until)
  local left, now = bound(limit, MAX_SWEPT), now_ms()
  local may_expire = now <= tonumber(expire_until)
  local done = { ended = 0, released = 0, forgotten = 0 }

  -- Ending writes an event, removing frees memory.
  if may_expire then
    left = left - sweep_leases(keys[1], namespace, now, left, done)
  end
  left = left - sweep_deployments(namespace, now, may_expire, left, done)
  left = left - sweep_ended(namespace, now, left, done)
  return { done.ended, done.released, done.forgotten, left <= 0 and 1 or 0 }
end)
