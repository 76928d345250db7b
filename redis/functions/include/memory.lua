-- Memory beyond `maxmemory` reserved for what must still be written when it is full (decision 0301).
local RESERVE_SHARE = 0.05
local RESERVE_BYTES = 1024 * 1024
-- INFO costs as much as a whole call, so it is called once per so many bytes that may have been written.
local UNCHECKED_BYTES = 256 * 1024
-- The maximum that a call writes: its arguments in several places, and its own texts.
local WRITES_EACH = 4
local WORDS_BYTES = 4096
-- The least that Redis takes for a field: a hash of more than fit is too long whatever is in them, so no more need be
-- sampled; fewer samples would let long fields hide behind short ones.
local MIN_FIELD_BYTES = 16
local memory = { unchecked = UNCHECKED_BYTES, is_full = false, limit = 0 }

-- Counts what a call writes beside its arguments, also from other keys, so that memory is checked sooner.
local function note_written(bytes)
  memory.unchecked = memory.unchecked + bytes
end

local function is_reserve_used(bytes)
  memory.unchecked = memory.unchecked + WRITES_EACH * bytes + WORDS_BYTES
  if memory.is_full or memory.unchecked >= UNCHECKED_BYTES then
    local info = redis.call('INFO', 'memory')
    local used = tonumber(string.match(info, '\nused_memory:(%d+)'))
    memory.limit = tonumber(string.match(info, '\nmaxmemory:(%d+)'))
    memory.is_full = memory.limit > 0 and used > memory.limit * (1 + RESERVE_SHARE) + RESERVE_BYTES
    memory.unchecked = 0
  end
  return memory.is_full
end

-- Whether a value is short enough for a function to read; true if there is none.
local function is_short(key, most)
  return (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', math.ceil(most / MIN_FIELD_BYTES)) or 0) <= most
end
