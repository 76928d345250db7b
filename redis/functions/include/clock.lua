-- Times by Redis' clock: the gateways' clocks are never used.
local SECOND_MS = 1000
local MINUTE_MS = 60 * SECOND_MS
local DAY_SECONDS = 86400

-- Unix microseconds: the order of requests and of turns.
local function now_micros()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- Unix milliseconds.
local function now_ms()
  return math.floor(now_micros() / 1000)
end
