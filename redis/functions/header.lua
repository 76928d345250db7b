-- Precedes all functions of the library; the loader prepends the shebang and LIBRARY.
local SECOND_MS = 1000
local MINUTE_MS = 60 * SECOND_MS
local DAY_SECONDS = 86400
-- As text: whole numbers of 64 bits.
local MAX_NUMBER_BYTES = 20
-- Larger ones are not exact; as Number.MAX_SAFE_INTEGER.
local MAX_NUMBER = 9007199254740991

-- Unix milliseconds by Redis' clock: the gateways' clocks are never used.
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- The key of one API key's requests of a minute; as workKeys.rpm in api/redis-keys.ts.
local function rpm_key(namespace, sha256)
  return 'w:{' .. namespace .. '}:rpm:' .. string.sub(sha256, 1, 24)
end

-- The key of one API key's tokens on one UTC day; as workKeys.tpd in api/redis-keys.ts.
local function tpd_key(namespace, sha256, day)
  return 'w:{' .. namespace .. '}:tpd:' .. string.sub(sha256, 1, 24) .. ':' .. string.format('%d', day)
end

-- A whole number, 0 for any other text: a tenant may have written anything.
local function parse_number(text)
  local value = string.match(text, '^%-?%d+$') and tonumber(text) or 0
  return math.abs(value) <= MAX_NUMBER and value or 0
end

-- A counter, 0 if there is none, or it is not a whole number; as readCounter in redis/untrusted-values.ts. No more is read
-- than a number has digits.
local function read_number(key)
  return parse_number(redis.call('GETRANGE', key, 0, MAX_NUMBER_BYTES - 1))
end

-- Adds to a counter what the caller has checked with `is_amount`, and never fails, since half of a function's writes would stay:
-- a value that read_number does not read counts as 0, and the sum remains one that it reads.
local function add_number(key, amount)
  local sum = redis.pcall('INCRBY', key, amount)
  if type(sum) == 'number' and math.abs(sum) <= MAX_NUMBER then
    return
  end
  local before = type(sum) == 'number' and sum - tonumber(amount) or 0
  sum = (math.abs(before) <= MAX_NUMBER and before or 0) + tonumber(amount)
  redis.call('SET', key, string.format('%.0f', math.max(-MAX_NUMBER, math.min(sum, MAX_NUMBER))))
end

-- Whether a text is a whole number from 0 on that is exact.
local function is_amount(text)
  return string.match(text, '^%d+$') and tonumber(text) <= MAX_NUMBER
end

-- A caller's limit, capped at `most` per call.
local function bound(text, most)
  return math.min(most, math.max(0, math.floor(tonumber(text))))
end

-- Bytes of all arguments, or nil if they are more or longer than our programs send.
local function measure(keys, args, bounds)
  if #keys > (bounds.keys or 1) or #args < bounds.least or #args > (bounds.most or bounds.least) then
    return nil
  end
  local bytes = 0
  for i = 1, #keys do
    bytes = bytes + #keys[i]
  end
  for i = 1, #args do
    bytes = bytes + #args[i]
  end
  return bytes <= bounds.bytes and bytes or nil
end

local function refuse_arguments()
  return redis.error_reply('ERR Too many, too few or too long arguments')
end

-- Memory beyond `maxmemory` reserved for what must still be written when it is full (decision 0301).
local RESERVE_SHARE = 0.05
local RESERVE_BYTES = 1024 * 1024
-- INFO costs as much as a whole call, so it is called once per so many bytes that may have been written.
local UNCHECKED_BYTES = 256 * 1024
-- The maximum that a call writes: its arguments in several places, and its own texts.
local WRITES_EACH = 4
local WORDS_BYTES = 4096
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

-- Every function limits its arguments, since a tenant may call it with any: `keys` (1 if absent), `least` and `most`
-- (as `least` if absent) arguments, and `bytes` of all together.
local function register_with(flags, name, bounds, callback)
  redis.register_function({
    function_name = LIBRARY .. '_' .. name, flags = flags,
    callback = function(keys, args)
      if not measure(keys, args, bounds) then
        return refuse_arguments()
      end
      return callback(keys, args)
    end,
  })
end

-- Functions that only read: they also work while Redis accepts no writes.
local function register_reader(name, bounds, callback)
  register_with({ 'no-writes' }, name, bounds, callback)
end

-- Functions that stop when memory is full: what they create could not be kept.
local function register_beginning(name, bounds, callback)
  register_with({}, name, bounds, callback)
end

-- Functions whose memory use is bounded: they continue when it is full.
local function register_frugal(name, bounds, callback)
  register_with({ 'allow-oom' }, name, bounds, callback)
end

-- All others continue into the reserve when memory is full, since serving must not stop and an end must be recorded.
local function register(name, bounds, callback)
  redis.register_function({
    function_name = LIBRARY .. '_' .. name, flags = { 'allow-oom' },
    callback = function(keys, args)
      local bytes = measure(keys, args, bounds)
      if not bytes then
        return refuse_arguments()
      end
      if is_reserve_used(bytes) then
        return redis.error_reply('OOM The memory that is kept for requests that end is used up')
      end
      return callback(keys, args)
    end,
  })
end
