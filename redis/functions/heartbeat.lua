-- Writes one replica's heartbeat and answers all live ones as a JSON list; those too old are dropped.
-- KEYS: the deployment's heartbeats, by pod, and when each was last heard, by `@` and pod.
-- ARGV: pod, its heartbeat as a JSON object without `at`.
-- What did not change is not written again: that is most of what the append-only file would hold.
local MIN_AGE_MS = 10 * SECOND_MS
local MISSED = 4
local MAX_BYTES = 1024
-- Of all replicas together: what takes more is a tenant's own making.
local MAX_HEARTBEATS_BYTES = 1024 * 1024

-- By pod, as the replicas wrote them, and when; nothing where a tenant wrote too much.
local function read_fields(key)
  local fields = {}
  if is_short(key, MAX_HEARTBEATS_BYTES) then
    local entries = redis.call('HGETALL', key)
    for i = 1, #entries, 2 do
      fields[entries[i]] = entries[i + 1]
    end
  end
  return fields
end

-- The heartbeat with its time, or nil where it is too old or no heartbeat.
local function read_live(fields, pod, now)
  local word, at = fields[pod], tonumber(fields['@' .. pod])
  if not at or #word > MAX_BYTES then
    return nil
  end
  local every = tonumber(string.match(word, '"every":(%d+)') or 0)
  if at <= now - math.min(math.max(MIN_AGE_MS, MISSED * every), MINUTE_MS) then
    return nil
  end
  -- Spliced as text: decoding would cost more and turn an empty list into an object.
  return string.sub(word, 1, -2) .. ',"at":' .. string.format('%.0f', at) .. '}'
end

register('heartbeat', { least = 2, bytes = 4096 }, function(keys, args)
  local pod, own = args[1], args[2]
  local now = now_ms()
  if not is_short(keys[1], MAX_HEARTBEATS_BYTES) then
    redis.call('UNLINK', keys[1])
  end
  local fields = read_fields(keys[1])
  if fields[pod] ~= own then
    redis.call('HSET', keys[1], pod, own)
    fields[pod] = own
  end
  fields['@' .. pod] = string.format('%.0f', now)
  redis.call('HSET', keys[1], '@' .. pod, fields['@' .. pod])
  if redis.call('PTTL', keys[1]) < MINUTE_MS then
    redis.call('PEXPIRE', keys[1], 3 * MINUTE_MS)
  end

  local live = {}
  for field in pairs(fields) do
    if string.sub(field, 1, 1) == '@' then
      if not fields[string.sub(field, 2)] then
        redis.call('HDEL', keys[1], field)
      end
    else
      local word = read_live(fields, field, now)
      if word then
        live[#live + 1] = word
      else
        redis.call('HDEL', keys[1], field, '@' .. field)
      end
    end
  end
  return '[' .. table.concat(live, ',') .. ']'
end)

-- All live heartbeats, for readers that are no replica. KEYS: the deployment's heartbeats.
register_reader('heartbeats', { least = 0, bytes = 1024 }, function(keys)
  local fields = read_fields(keys[1])
  local live, now = {}, now_ms()
  for field in pairs(fields) do
    if string.sub(field, 1, 1) ~= '@' then
      live[#live + 1] = read_live(fields, field, now)
    end
  end
  return live
end)
