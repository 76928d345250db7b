-- Stands before all functions of the library; the loader puts the shebang and LIBRARY above it.
local SECOND_MS = 1000
local MINUTE_MS = 60 * SECOND_MS
local DAY_SECONDS = 86400

-- Unix milliseconds by Redis' clock: the gateways' clocks decide nothing.
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- The key of one API key's tokens on one UTC day; as workKeys.tpd in contract/redis-keys.ts.
local function tpd_key(namespace, sha256, day)
  return 'w:{' .. namespace .. '}:tpd:' .. string.sub(sha256, 1, 24) .. ':' .. string.format('%d', day)
end

-- Functions that only read: they answer while Redis takes no writes, too.
local function register_reader(name, callback)
  redis.register_function({ function_name = LIBRARY .. '_' .. name, callback = callback, flags = { 'no-writes' } })
end

-- All functions go on when memory is full: what they write is small, and serving must not stop.
local function register(name, callback)
  redis.register_function({ function_name = LIBRARY .. '_' .. name, callback = callback, flags = { 'allow-oom' } })
end
