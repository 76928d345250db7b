-- Writes one replica's heartbeat and returns the live ones. KEYS: the deployment's heartbeats. ARGV: pod, its heartbeat as a
-- JSON object without `at`, and the last edition that it received or ''. Returns the edition, then all of them unless it is
-- the same. A gateway of an earlier version sends no edition, and gets only the heartbeats.
-- An edition is the microsecond in which a report or reporter last changed, so that none recurs after Redis has lost its data.
-- It is kept with when dead ones were last dropped.
local DROP_MS = 10 * SECOND_MS

local function now_micros()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function read_edition(key, now)
  local is_ours = redis.call('HSTRLEN', key, EDITION) <= 2 * MAX_NUMBER_BYTES
  local edition, dropped_at = string.match(is_ours and redis.call('HGET', key, EDITION) or '', '^(%d+) (%d+)$')
  edition = tonumber(edition) or 0
  return edition <= (now + MAX_AHEAD_MS) * 1000 and edition or 0, tonumber(dropped_at) or 0
end

local function next_edition(key, now)
  return math.max(now_micros(), read_edition(key, now) + 1)
end

-- Whether an idle replica is up to date: then nothing more is read, whatever the number of replicas.
local function has_heard(key, pod, word, heard, now)
  -- A field of a different length is a different report, which a tenant may have made long.
  if redis.call('HSTRLEN', key, pod) ~= #word or redis.call('HGET', key, pod) ~= word then
    return false
  end
  local edition, dropped_at = read_edition(key, now)
  return edition == tonumber(heard) and math.abs(now - dropped_at) < DROP_MS
end

local function stop_logging()
  redis.set_repl(redis.REPL_NONE)
end

local function resume_logging()
  redis.set_repl(redis.REPL_ALL)
end

-- Written neither to the append-only file nor to replicas of the server: a reconnecting gateway repeats everything (decision 0291). What
-- is longer was made by a tenant, and is removed from both: otherwise they could hold what this server does not.
local function call_unlogged(command, key, ...)
  local field, value = ...
  if value and redis.call('HSTRLEN', key, field) > 2 * #value then
    redis.call('HDEL', key, field)
  end
  -- If a service does not allow it, everything is logged.
  pcall(stop_logging)
  redis.call(command, key, ...)
  pcall(resume_logging)
end

register('heartbeat', { least = 2, most = 3, bytes = 4096 }, function(keys, args)
  local key, pod, word, heard = keys[1], args[1], args[2], args[3]
  local now = now_ms()
  if heard and has_heard(key, pod, word, heard, now) then
    call_unlogged('HSET', key, '@' .. pod, digits(now))
    return { heard }
  end
  local live, is_changed = speak(key, MAX_WORDS_BYTES, pod, word, call_unlogged)
  local edition = is_changed and next_edition(key, now) or read_edition(key, now)
  call_unlogged('HSET', key, EDITION, digits(edition) .. ' ' .. digits(now))
  local answer = { heard and digits(edition) }
  if not heard or edition ~= tonumber(heard) then
    for _, spoken in pairs(live) do
      answer[#answer + 1] = spoken
    end
  end
  return answer
end)

-- Removes one replica's heartbeat. KEYS: the deployment's heartbeats. ARGV: pod.
register_frugal('leave', { least = 1, bytes = 1024 }, function(keys, args)
  local removed = redis.call('HDEL', keys[1], args[1], '@' .. args[1])
  if removed > 0 and redis.call('EXISTS', keys[1]) == 1 then
    -- It is a new edition, so the time of the last drop no longer counts.
    call_unlogged('HSET', keys[1], EDITION, digits(next_edition(keys[1], now_ms())) .. ' 0')
  end
  return removed
end)
