export const SYSTEM_NAMESPACE = 'berth-system';
export const FRONT_SERVICE = 'berth-front';
