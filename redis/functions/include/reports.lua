--- @include "clock", "memory"
-- Periodic reports about a deployment, from its replicas and from fronts: hashes
-- with each reporter's report, and under `@` and the reporter the time of the last one. Reports are JSON objects without `at`.
local MIN_AGE_MS = 10 * SECOND_MS
local MISSED = 4
-- Reports from further in the future are not from our programs, and would live forever.
local MAX_AHEAD_MS = 10 * SECOND_MS
local MAX_WORD_BYTES = 1024
-- For all reporters together: more was made by a tenant.
local MAX_WORDS_BYTES = 1024 * 1024
-- `@`, as a byte; alone, it is the field of heartbeats.lua's data about all reports.
local TIME_PREFIX = 64
local EDITION = '@'

-- The fields of a hash by name. The caller has checked its length.
local function read_words(key)
  local fields, entries = {}, redis.call('HGETALL', key)
  for i = 1, #entries, 2 do
    fields[entries[i]] = entries[i + 1]
  end
  return fields
end

-- Milliseconds until a report's next one. Without a pattern, which would be tried at each character.
local function read_every(word)
  local _, last = string.find(word, '"every":', 1, true)
  return last and tonumber(string.match(word, '^%d+', last + 1)) or 0
end

-- A reporter's report with its time, or nil if it is too old, from the future, or invalid.
local function read_live(fields, speaker, now)
  local word, at = fields[speaker], tonumber(fields['@' .. speaker])
  if not at or at > now + MAX_AHEAD_MS or #word > MAX_WORD_BYTES then
    return nil
  end
  if at <= now - math.min(math.max(MIN_AGE_MS, MISSED * read_every(word)), MINUTE_MS) then
    return nil
  end
  -- Spliced as text: decoding would cost more and turn an empty list into an object.
  return string.sub(word, 1, -2) .. ',"at":' .. string.format('%.0f', at) .. '}'
end

-- All live reports.
local function list_live(fields, now)
  local live = {}
  for field in pairs(fields) do
    if string.byte(field) ~= TIME_PREFIX then
      live[#live + 1] = read_live(fields, field, now)
    end
  end
  return live
end

-- Writes a report with `call`, which is `redis.call` or a substitute; returns all live ones by reporter, and whether the
-- reports or the reporters changed. Old ones are dropped. Unchanged ones are not rewritten: they would be most of what
-- the append-only file would hold.
local function speak(key, most, speaker, word, call)
  local now = now_ms()
  if not is_short(key, most) then
    redis.call('UNLINK', key)
  end
  local fields = read_words(key)
  local is_changed = fields[speaker] ~= word
  if is_changed then
    call('HSET', key, speaker, word)
    fields[speaker] = word
  end
  fields['@' .. speaker] = string.format('%.0f', now)
  call('HSET', key, '@' .. speaker, fields['@' .. speaker])
  if redis.call('PTTL', key) < MINUTE_MS then
    call('PEXPIRE', key, 3 * MINUTE_MS)
  end

  local live = {}
  for field in pairs(fields) do
    if string.byte(field) == TIME_PREFIX then
      if field ~= EDITION and not fields[string.sub(field, 2)] then
        redis.call('HDEL', key, field)
      end
    else
      live[field] = read_live(fields, field, now)
      if not live[field] then
        redis.call('HDEL', key, field, '@' .. field)
        is_changed = true
      end
    end
  end
  return live, is_changed
end
