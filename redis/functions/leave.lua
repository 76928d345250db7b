-- Removes one replica's heartbeat. KEYS: the deployment's heartbeats. ARGV: pod.
register('leave', function(keys, args)
  return redis.call('HDEL', keys[1], args[1])
end)
