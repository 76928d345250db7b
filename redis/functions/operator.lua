--- @include "register"
-- For the operator: `canary`, `weigh`.

-- Sets two fields to one number, above their previous values; returns the lower previous one, and the new one (decision 0080).
-- KEYS: the canary. ARGV: a number that the operator wrote by itself, which both had reached before.
register('canary', function(keys, confirmed)
  local first = tonumber(redis.call('HGET', keys[1], 'first') or 0) or 0
  local second = tonumber(redis.call('HGET', keys[1], 'second') or 0) or 0
  local next = math.max(first, second, tonumber(confirmed) or 0) + 1
  -- Two writes: a single one would not be wrapped in a transaction, which is what a reload may drop.
  redis.call('HSET', keys[1], 'first', string.format('%.0f', next))
  redis.call('HSET', keys[1], 'second', string.format('%.0f', next))
  return { math.min(first, second), next }
end)

-- Bytes of the workspaces' own keys and deliveries found by one step of SCAN. KEYS: none. ARGV: the cursor,
-- then `exactly` to measure every element of a key: five samples of a large hash do not find the few long fields in it. Returns
-- the next cursor, then names and bytes in turn. For the operator: a workspace's user may not SCAN.
local KEYS_A_STEP = '1000'
-- Each may take long then.
local KEYS_AN_EXACT_STEP = '250'
-- What takes a second; more keys cannot hide anything, since they weigh more than they could hide.
local MAX_SAMPLES = 10000000
local SAMPLES = 5

register('weigh', function(_, cursor, mode)
  local is_exact = mode == 'exactly'
  local step = redis.call('SCAN', cursor, 'MATCH', '[dw]:{*', 'COUNT', is_exact and KEYS_AN_EXACT_STEP or KEYS_A_STEP)
  local samples = is_exact and MAX_SAMPLES or SAMPLES
  local weights = {}
  for _, key in ipairs(step[2]) do
    local namespace = string.match(key, '^[dw]:{([^}]*)}:')
    if namespace then
      weights[namespace] = (weights[namespace] or 0) + (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', samples) or 0)
    end
  end
  local reply = { step[1] }
  for namespace, bytes in pairs(weights) do
    reply[#reply + 1] = namespace
    reply[#reply + 1] = bytes
  end
  return reply
end)
