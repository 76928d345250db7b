-- Writes one replica's heartbeat and answers all live ones. KEYS: the deployment's heartbeats. ARGV: pod, its heartbeat as a
-- JSON object without `at`.
register('heartbeat', { least = 2, bytes = 4096 }, function(keys, args)
  local words = {}
  for _, word in pairs(speak(keys[1], MAX_WORDS_BYTES, args[1], args[2])) do
    words[#words + 1] = word
  end
  return words
end)

-- Removes one replica's heartbeat. KEYS: the deployment's heartbeats. ARGV: pod.
register_frugal('leave', { least = 1, bytes = 1024 }, function(keys, args)
  return redis.call('HDEL', keys[1], args[1], '@' .. args[1])
end)
