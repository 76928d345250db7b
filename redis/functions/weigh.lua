-- Bytes of the workspaces' own keys, as far as one step of SCAN finds them. KEYS: none. ARGV: the cursor. Answers the next
-- cursor, then names and bytes in turn. For the operator: a workspace's user may not SCAN.
local KEYS_A_STEP = '1000'

register_reader('weigh', { keys = 0, least = 1, bytes = 1024 }, function(_, args)
  local step = redis.call('SCAN', args[1], 'MATCH', 'w:{*', 'COUNT', KEYS_A_STEP)
  local weights = {}
  for _, key in ipairs(step[2]) do
    local namespace = string.match(key, '^w:{([^}]*)}:')
    if namespace then
      weights[namespace] = (weights[namespace] or 0) + (redis.call('MEMORY', 'USAGE', key) or 0)
    end
  end
  local reply = { step[1] }
  for namespace, bytes in pairs(weights) do
    reply[#reply + 1] = namespace
    reply[#reply + 1] = bytes
  end
  return reply
end)
