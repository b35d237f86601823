mod readme;
