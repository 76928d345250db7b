-- Ends a claimed request with its worker's outcome. KEYS: the record. ARGV: namespace, id, the worker's token,
-- `succeeded` or `failed`, error code, error message, output (JSON), its bucket, its first object key,
-- the event's result payload (JSON), objects' clean-up times as a JSON list of [object, milliseconds or -1 = keep].
-- Answers `done`, `already_done_by_you` or `stale`; after `stale` alone a worker removes its own objects.
local WEIGHT = 0.2
local PACE_SECONDS = 30 * DAY_SECONDS

-- The moving average by which waiting is estimated; relearned each month, so that none outlives its deployment.
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
  for _, entry in ipairs(cjson.decode(text)) do
    if entry[2] < 0 then
      redis.call('ZREM', cleanup, entry[1])
    else
      redis.call('ZADD', cleanup, now + entry[2], entry[1])
    end
  end
end

-- An event of 64 KiB, the objects' keys in it and beside it.
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
