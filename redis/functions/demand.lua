--- @include "clock", "register", "reports"
-- Deployments' demand, for the operator: live heartbeats, fronts' shares, and the queue of each.
-- KEYS: the heartbeats of the first. ARGV: `namespace/name` of each, or `namespace/name/most`, the replicas that it can have.
-- Returns Redis' time, then for as many of them as one call may process, in order: heartbeats, shares, waiting
-- requests, running ones, and the average milliseconds of a job or ''.
local MAX_REPLICAS = 1100
local MAX_FRONTS = 64
-- For all fronts: more was made by a tenant, and fronts write theirs for all tenants.
local MAX_SHARES_BYTES = 64 * 1024
-- Limit of all hashes in one call.
local MAX_READ_BYTES = 4 * 1024 * 1024

-- The live reports in a hash, and the bytes read. If a tenant changed the key's type, it counts as empty.
local function read_hash(key, now, speakers, most_bytes)
  local length = redis.pcall('HLEN', key)
  if length == 0 then
    return {}, 0
  end
  -- Each has two fields, and all of them one more.
  if type(length) ~= 'number' or length > 2 * speakers + 1 then
    return {}, 0
  end
  local bytes = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) or 0
  if bytes > most_bytes then
    return {}, most_bytes
  end
  return list_live(read_words(key), now), bytes
end

local function count(key)
  local members = redis.pcall('ZCARD', key)
  return type(members) == 'number' and members or 0
end

-- Those that lost their worker wait, although they are shown as running.
local function read_jobs(namespace, name)
  local queued = count(index_key(namespace, name, 'queued'))
  local running = count(index_key(namespace, name, 'running'))
  -- Most deployments of a fleet have no jobs.
  if queued + running == 0 then
    return 0, 0, ''
  end
  local again = count(again_key(namespace, name))
  local average = redis.pcall('HGET', pace_key(namespace, name), 'average_ms')
  local is_short_text = type(average) == 'string' and #average <= MAX_NUMBER_BYTES
  return queued + again, math.max(0, running - again), is_short_text and average or ''
end

register('demand', function(_, args)
  local now = now_ms()
  local reply, left = { string.format('%.0f', now) }, MAX_READ_BYTES
  for i = 1, #args do
    if left <= 0 then
      break
    end
    local namespace, name, most = string.match(args[i], '^([^/]*)/([^/]*)/?(%d*)$')
    local replicas = math.min(MAX_REPLICAS, tonumber(most) or MAX_REPLICAS)
    local beats, beats_bytes = read_hash(heartbeats_key(namespace, name), now, replicas, MAX_WORDS_BYTES)
    local shares, shares_bytes = read_hash(fronts_key(namespace, name), now, MAX_FRONTS, MAX_SHARES_BYTES)
    local waiting, running, average = read_jobs(namespace, name)
    reply[i + 1] = { beats, shares, waiting, running, average }
    left = left - beats_bytes - shares_bytes
  end
  return reply
end)

-- Writes one front's share of the demand for a deployment, and returns how many requests all other fronts hold for it.
-- KEYS: the deployment's fronts. ARGV: the front, its share as a JSON object without `at`.
register('share', function(keys, front, report)
  local held = 0
  for other, word in pairs(speak(keys[1], MAX_SHARES_BYTES, front, report, redis.call)) do
    if other ~= front then
      held = held + math.min(MAX_NUMBER, tonumber(string.match(word, '"held":(%d+)') or 0))
    end
  end
  return math.min(MAX_NUMBER, held)
end)
