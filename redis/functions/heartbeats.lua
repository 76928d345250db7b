--- @include "clock", "numbers", "register", "reports"
-- Writes one replica's heartbeat and returns the live ones. KEYS: the deployment's heartbeats. ARGV: pod, its heartbeat as a
-- JSON object without `at`, and the last edition that it received or ''. Returns the edition, then all of them unless it is
-- the same. A gateway of an earlier version sends no edition, and gets only the heartbeats.
-- An edition is the microsecond in which a report or reporter last changed, so that none recurs after Redis has lost its data.
-- It is kept with when dead ones were last dropped.
local DROP_MS = 10 * SECOND_MS

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

register('heartbeat', function(keys, pod, report, known_edition)
  local key, now = keys[1], now_ms()
  if known_edition and has_heard(key, pod, report, known_edition, now) then
    call_unlogged('HSET', key, '@' .. pod, digits(now))
    return { known_edition }
  end
  local live, is_changed = speak(key, MAX_WORDS_BYTES, pod, report, call_unlogged)
  local edition = is_changed and next_edition(key, now) or read_edition(key, now)
  call_unlogged('HSET', key, EDITION, digits(edition) .. ' ' .. digits(now))
  local answer = { known_edition and digits(edition) }
  if not known_edition or edition ~= tonumber(known_edition) then
    for _, spoken in pairs(live) do
      answer[#answer + 1] = spoken
    end
  end
  return answer
end)

-- Removes one replica's heartbeat. KEYS: the deployment's heartbeats. ARGV: pod.
register('leave', function(keys, pod)
  local removed = redis.call('HDEL', keys[1], pod, '@' .. pod)
  if removed > 0 and redis.call('EXISTS', keys[1]) == 1 then
    -- It is a new edition, so the time of the last drop no longer counts.
    call_unlogged('HSET', keys[1], EDITION, digits(next_edition(keys[1], now_ms())) .. ' 0')
  end
  return removed
end)
