--- @include "clock", "numbers", "register"
-- Adds to a deployment's usage: all counts of a batch or none, and once, however often it is sent.
-- KEYS: the marker of the writer, then the hashes. ARGV: the number of the batch, above those of the writer's earlier ones;
-- then for each hash the seconds that it is kept, how many counts follow, and of each its field and amount, or `>` and the
-- least that the field must be, or `~` and a sketch of latencies to merge. A batch 0 is never repeated. Returns 1, or 0 for
-- a repeat.
local MAX_COUNTER_BYTES = 32
local MAX_KEEP_SECONDS = 100 * DAY_SECONDS
-- `~`; Lua's own libraries are not there while this loads.
local SKETCH_MARK = 126

local function read_field(key, field)
  if redis.call('HSTRLEN', key, field) > MAX_NUMBER_BYTES then
    return 0
  end
  return parse_number(redis.call('HGET', key, field) or '')
end

-- Adds a sketch's text (kit/latency-sketch.ts) to sums. False, and nothing added, for any other text. Values are kept
-- only where no more than are exact can be among them. A bucket's digits are bounded, since a pattern is tried at each character.
local function add_sketch(sums, text)
  local most, counts, values
  if #text <= MAX_SKETCH_BYTES then
    most, counts, values = string.match(text, '^(%d+);([%d=,]*);([%d,]*)$')
  end
  if not most or #most > MAX_NUMBER_BYTES then
    return false
  end
  local left = SKETCH_BUCKETS
  for bucket, count in string.gmatch(counts, '(%d%d?%d?)=(%d+)') do
    bucket, count, left = tonumber(bucket), tonumber(count), left - 1
    if bucket < SKETCH_BUCKETS and count <= MAX_NUMBER then
      sums.counts[bucket] = math.min((sums.counts[bucket] or 0) + count, MAX_NUMBER)
      sums.total = sums.total + count
    end
    if left == 0 then
      break
    end
  end
  sums.most = math.max(sums.most, math.min(tonumber(most), MAX_NUMBER))
  if values ~= '' and #values <= EXACT_LATENCIES * MAX_NUMBER_BYTES then
    sums.values[#sums.values + 1] = values
  end
  return true
end

-- The new one is read first: a call that is refused for it costs nothing more.
local function merge_sketch(key, field, text)
  local sums = { total = 0, most = 0, counts = {}, values = {} }
  if not add_sketch(sums, text) then
    error('Not a sketch: ' .. string.sub(field, 1, MAX_COUNTER_BYTES))
  end
  if key and redis.call('HSTRLEN', key, field) <= MAX_SKETCH_BYTES then
    add_sketch(sums, redis.call('HGET', key, field) or '')
  end
  local counts = {}
  for bucket, count in pairs(sums.counts) do
    counts[#counts + 1] = digits(bucket) .. '=' .. digits(count)
  end
  local values = sums.total < EXACT_LATENCIES and table.concat(sums.values, ',') or ''
  return digits(sums.most) .. ';' .. table.concat(counts, ',') .. ';' .. values
end

-- Before any is parsed: an error at the last would let a call repeat all of that work for ever.
local function check_sketches(args)
  local sketches = 0
  for i = 1, #args do
    sketches = sketches + (string.byte(args[i]) == SKETCH_MARK and 1 or 0)
  end
  if sketches > MAX_SKETCHES then
    error('Too many sketches')
  end
end

-- A tenant may have changed the type of the key.
local function is_hash(key)
  return type(redis.pcall('HSTRLEN', key, '')) == 'number'
end

-- The field's new text. `key`: false if there is no such hash.
local function merge_count(key, field, count)
  local mark, text = string.match(count, '^([>~]?)(.*)$')
  if mark == '~' and #field <= MAX_COUNTER_BYTES then
    return merge_sketch(key, field, text)
  end
  local amount = string.match(text, '^%d+$') and tonumber(text)
  if #field > MAX_COUNTER_BYTES or not amount or amount > MAX_NUMBER then
    error('A count is not a whole number: ' .. string.sub(field, 1, MAX_COUNTER_BYTES))
  end
  local before = key and read_field(key, field) or 0
  return digits(mark == '>' and math.max(before, amount) or math.min(before + amount, MAX_NUMBER))
end

-- Reads everything before anything is written: an error in between would leave half a batch.
local function plan(keys, args)
  check_sketches(args)
  local writes, at = {}, 2
  for i = 2, #keys do
    local seconds, counts = bound(args[at], MAX_KEEP_SECONDS), bound(args[at + 1], MAX_COUNTS)
    local key, write = keys[i], { 'HSET', keys[i] }
    local is_kept = is_hash(key)
    if not is_kept then
      writes[#writes + 1] = { 'UNLINK', key }
    end
    at = at + 2
    for _ = 1, counts do
      write[#write + 1] = args[at]
      write[#write + 1] = merge_count(is_kept and key, args[at], args[at + 1])
      at = at + 2
    end
    if counts > 0 then
      writes[#writes + 1] = write
      writes[#writes + 1] = { 'EXPIRE', key, digits(seconds) }
    end
  end
  return writes
end

-- It is refused when memory is full: charts can do without, and the gateway sends it again.
register('add_usage', function(keys, args, batch)
  local number = tonumber(batch)
  if number > 0 and number <= read_number(keys[1]) then
    return 0
  end
  for _, write in ipairs(plan(keys, args)) do
    redis.call(unpack(write))
  end
  if number > 0 then
    redis.call('SET', keys[1], batch, 'EX', REMEMBERED_SECONDS)
  end
  return 1
end)
