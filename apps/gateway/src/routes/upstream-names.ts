/**
 * Name of the device service in the route table, and the audience of the tokens that it accepts.
 */
export const deviceService = 'device-service';
