-- Stored objects of a request, as a JSON list that a tenant may have written.

-- The members of a JSON list that is short enough; none of any other text.
local function decode_list(text)
  local is_json, list = pcall(cjson.decode, #text <= MAX_OBJECTS_BYTES and text or '')
  return is_json and type(list) == 'table' and #list <= MAX_OBJECTS and list or {}
end

local function is_object(value)
  return type(value) == 'string' and #value <= MAX_OBJECT_BYTES
end

-- The stored objects of a JSON list, or nil if it is not ours.
local function decode_objects(text)
  local objects = decode_list(text)
  for _, object in ipairs(objects) do
    if not is_object(object) then
      return nil
    end
  end
  return #objects > 0 and objects or nil
end
