-- Removes one replica's heartbeat. KEYS: the deployment's heartbeats. ARGV: pod.
register_frugal('leave', { least = 1, bytes = 1024 }, function(keys, args)
  return redis.call('HDEL', keys[1], args[1], '@' .. args[1])
end)
