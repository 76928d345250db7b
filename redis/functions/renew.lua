-- Keeps a claim alive and notes progress, which only grows. A lease that ran out but was not swept yet lives again.
-- KEYS: the record. ARGV: namespace, id, the worker's token, lease in milliseconds, progress (0 to 99) or ''.
-- Answers `renewed`, `stale` (no longer this worker's) or `deadline` (its time is up).
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
