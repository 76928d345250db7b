-- Records objects to remove at a time, unless they are unregistered before.
-- KEYS: the clean-up list. ARGV: milliseconds from now, then objects.
local MAX_OBJECTS = 50

register('register_objects', { least = 1, most = 1 + MAX_OBJECTS, bytes = 64 * 1024 }, function(keys, args)
  local due = now_ms() + tonumber(args[1])
  for i = 2, #args do
    redis.call('ZADD', keys[1], due, args[i])
  end
  return #args - 1
end)
