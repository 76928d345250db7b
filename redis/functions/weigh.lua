-- Bytes of the workspaces' own keys and deliveries found by one step of SCAN. KEYS: none. ARGV: the cursor,
-- then `exactly` to measure every element of a key: five samples of a large hash do not find the few long fields in it. Returns
-- the next cursor, then names and bytes in turn. For the operator: a workspace's user may not SCAN.
local KEYS_A_STEP = '1000'
-- Each may take long then.
local KEYS_AN_EXACT_STEP = '250'
-- What takes a second; more keys cannot hide anything, since they weigh more than they could hide.
local MAX_SAMPLES = 10000000
local SAMPLES = 5

register_reader('weigh', { keys = 0, least = 1, most = 2, bytes = 1024 }, function(_, args)
  local is_exact = args[2] == 'exactly'
  local step = redis.call('SCAN', args[1], 'MATCH', '[dw]:{*', 'COUNT', is_exact and KEYS_AN_EXACT_STEP or KEYS_A_STEP)
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
