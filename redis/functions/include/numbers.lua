-- Whole numbers, as text or in counters: a tenant may have written anything.

-- 0 for any other text.
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

-- A whole number as text, for writers: a number would be formatted at every call, at greater cost.
local function digits(number)
  return string.format('%d', number)
end
